"""Columns: as they came, as they are stored, and where kernels find them."""
