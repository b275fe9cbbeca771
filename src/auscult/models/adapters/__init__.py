"""Ways to ask what is no registered model: a Python function, a program, a folder of masks predicted elsewhere."""
