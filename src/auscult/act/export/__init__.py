"""Hand-over: verdicts as CSV for a spreadsheet, masks in the formats of other tools, a module each."""
