"""What programs import from the package of upstream's back end for NVIDIA's GPUs."""
