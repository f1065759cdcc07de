"""What Triton keeps in `triton.experimental`."""
