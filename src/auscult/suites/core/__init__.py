"""The engine of every suite: cases x conditions x models to result rows, from these a grid, tables and one page."""
