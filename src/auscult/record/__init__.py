"""A run on disk: ``folder`` writes it, ``reader`` reads it, ``schema`` says what its lines look like.

A line of a record is written whole or not at all, a file is replaced at one stroke, one process writes at a time.
What a killed run left is healed when the next one opens the folder; reading never changes anything.
"""
