"""Models of the Hugging Face hub whose weights the user brings, in a folder; nothing is downloaded."""
