"""A part of the data: an engine that carries out orders, and the copies of it."""
