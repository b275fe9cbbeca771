"""Omni models behind an OpenAI-compatible endpoint, and cascades of models; media are encoded as a profile declares.

=========  ===================================================================
profile    what a model takes and how: a file, TOML or JSON
encoding   pictures, sounds and videos as parts of a message
model      a question and its media to a request, its reply to an answer
cascade    models that describe what another answers about
formatter  a language model that writes replies in the form that was asked for
=========  ===================================================================
"""
