"""Numbers wider than a word, exact sums, checked arithmetic, and days."""
