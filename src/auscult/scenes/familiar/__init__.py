"""AVI-Bench's familiar tasks on material of our own: made scenes, and a user's recordings and photographs.

``kinds`` is the table of question types, with the true answer dealt before anything is drawn; ``perception``,
``understanding`` and ``reasoning`` draw what they ask about.
"""
