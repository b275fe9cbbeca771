"""Training the judges of separated sound."""
