"""The only code that reads or writes pictures and masks.

Every file is taken to be hostile: its size is bounded and its content checked before it is decoded.
"""
