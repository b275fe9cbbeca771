"""The systems under test, as adapters."""
