"""Released layouts as pure functions: names of files, and rows to bytes. Jobs write what these return."""
