"""How kernels get their machine code: compiled ahead and shipped, or compiled when they are met and kept."""
