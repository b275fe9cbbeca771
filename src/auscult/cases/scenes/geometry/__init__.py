"""Where things are, how large, how near, and how they move: numbers only, no picture and no sound."""
