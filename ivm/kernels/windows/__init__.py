"""Window functions over ordered partitions, whose trees count positions."""
