"""The door of HTTP: views, statements and changes for whatever speaks it."""
