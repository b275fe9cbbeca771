"""Judges of separated sound."""
