"""Vector twins of the wrappers, under the same file names."""
