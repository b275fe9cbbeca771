"""One file per verb: what the command line and Python both call. Nothing is printed here."""
