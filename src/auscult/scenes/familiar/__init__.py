"""AVI-Bench's familiar tasks on material of our own: made scenes, and a user's recordings and photographs.

``kinds`` is the table of question types; ``perception``, ``understanding``, ``reasoning`` and ``captions`` draw what
they ask about; ``samples`` makes the sample of a number, with the true answer dealt before anything is drawn.
"""
