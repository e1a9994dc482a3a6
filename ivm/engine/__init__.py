"""Tables and views at one logical time: how a commit goes through them, and who is told of it."""
