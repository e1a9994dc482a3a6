"""What changes in views, delivered to where it is wanted, each change once."""
