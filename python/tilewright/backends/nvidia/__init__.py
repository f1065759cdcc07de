"""The names that programs import from Triton's back end for NVIDIA's GPUs."""
