"""Stimuli nobody trained on: drawn shapes and made sounds with a question each, after AVI-Bench's PriSe.

``sounds``, ``pictures`` and ``videos`` draw them; ``kinds`` is the table of question types, and makes the question of a
number, with the true answer fixed before anything is drawn.
"""
