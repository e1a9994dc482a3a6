"""The rows kind of state: stores of rows, with what follows them."""
