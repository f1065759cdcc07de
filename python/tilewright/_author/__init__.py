"""The parts that verify and bench share: kernel files, their tensors, and the comparison of results."""
