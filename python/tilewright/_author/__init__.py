"""What verify and bench share: kernel files, their tensors, and how results are compared."""
