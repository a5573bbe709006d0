"""Numbers for channels, descriptors and locks, and what they are counted from."""
