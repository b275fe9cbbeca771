"""The layouts of an INPUT; each is registered as a dataset and answers ``recognises`` and ``list``."""
