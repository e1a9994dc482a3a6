"""Window functions: what stands before OVER and in it, and the relation that computes them."""
