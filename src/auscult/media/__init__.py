"""The only code that reads or writes pictures, masks, sound and video.

Every file is taken to be hostile: its size is bounded and its content checked before it is decoded.
"""
