"""The door of Arrow Flight SQL, and of plain Flight: rows as Arrow, without a copy as text."""
