"""What a user holds and says: databases, statements, what is defined, asked and proved."""
