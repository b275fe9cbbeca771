"""Arithmetic on arrays that several rooms share: overlap, boxes, boundaries, regions. Pure: nothing is read or written."""
