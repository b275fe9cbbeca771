"""Trains `masks.prompted.v1`."""
