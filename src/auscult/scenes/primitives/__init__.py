"""Stimuli nobody trained on: drawn shapes and made sounds with a question each, after AVI-Bench's PriSe.

``kinds`` is the table of question types; ``sounds``, ``pictures``, ``videos`` and ``both`` draw them; ``questions``
makes the question of a number, with the true answer fixed before anything is drawn.
"""
