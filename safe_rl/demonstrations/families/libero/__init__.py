"""Tasks of LIBERO."""
