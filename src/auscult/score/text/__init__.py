"""Scores of captions against references: by what they mean (``fense``), by their words (``words``), and both."""
