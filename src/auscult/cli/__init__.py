"""The command line: parses, calls a job, prints results to stdout and messages to stderr."""
