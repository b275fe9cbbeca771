"""Case sources: released dataset layouts and plain folders, listed as items without opening pictures."""
