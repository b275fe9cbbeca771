"""Segmenters that need no weights: weak by today's measure, but real, with errors that nobody designed."""
