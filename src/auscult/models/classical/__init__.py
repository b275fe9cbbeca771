"""Segmenters that need no weights: weak by today's measure, but with real rather than designed errors."""
