"""What a query's names mean: columns and tables in scope, outer rows, stars, and the names that results get."""
