"""The command line: verbs of one kind in a file; parse, call a job, print. Results on stdout, talk on stderr."""
