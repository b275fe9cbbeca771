"""Where cases come from: released layouts and a person's own folders, listed as items that nobody has opened yet."""
