"""Network definitions: the only room besides `train` that imports torch, and only when a network is made."""
