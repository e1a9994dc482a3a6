"""Numbers wider than a word, exact sums, checked arithmetic, days, and Arrow's layouts of them."""
