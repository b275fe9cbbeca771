"""Judges: verdicts on predictions without truth. One loads only with a measured card (``judge.cards``)."""
