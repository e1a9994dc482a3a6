"""What there is, as Postgres's clients ask for it: relations and functions of `pg_catalog`."""
