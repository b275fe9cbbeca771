"""Judges of masks."""
