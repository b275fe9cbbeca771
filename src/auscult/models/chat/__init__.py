"""Omni models behind an OpenAI-compatible endpoint, and cascades of models; media are encoded as a profile declares.

=========  ===================================================================
profile    what a model takes and how, a file; pictures, sounds and videos as parts of a message
model      a question and its media to a request, its reply to an answer; kept replies, the formatter
loading    from a name to a model; cascades: models that describe what another answers about
=========  ===================================================================
"""
