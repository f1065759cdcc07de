"""The contents of Triton's `triton.experimental`."""
