"""The network of ``sound.compact.v1``: a pretrained tagger hears mixture, output and rest; a head compares them."""
