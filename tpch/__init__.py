"""TPC-H as a proving ground: schema, the 22 queries, data and change streams made on Spark, and the runner."""
