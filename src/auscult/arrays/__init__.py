"""Arithmetic on arrays that rooms share: overlap, boxes, boundaries, regions. Pure: nothing is read or written."""
