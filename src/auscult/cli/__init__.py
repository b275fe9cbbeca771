"""The command line: one file per verb; parse, call a job, print. Results on stdout, talk on stderr."""
