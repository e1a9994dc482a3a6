"""Data that comes in, in whatever form, checked against the tables that it is for."""
