"""The step of a delta through one operator after the other, in one call: records, and what walks along them."""
