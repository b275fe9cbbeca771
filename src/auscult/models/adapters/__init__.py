"""Adapters for models that are not registered: a Python function, a program, a folder of stored predictions."""
