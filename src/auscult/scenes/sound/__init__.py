"""How things sound: sources, spans, levels and places in stereo.

It knows samples and seconds, no picture and no sentence.
"""
