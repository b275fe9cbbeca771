"""Audio-visual scenes with exact truth, made from nothing or from a user's pictures and sounds.

Four parts that know nothing of one another: ``geometry`` (where things are and how they move), ``appearance`` (what
they look like and how a picture is put together), ``sound`` (how they sound), and the room ``language`` (what can be
said of them). Only the modules of this folder itself know all four.
"""
