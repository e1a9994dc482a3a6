"""The clauses of a block, from WITH and FROM to ORDER BY and LIMIT, and the set operations between blocks."""
