"""From a query's text to typed IR: names, types, aggregates and order. `bind` is the entry."""

from ivm.sql.bind.query import BoundQuery, bind, registered, with_names

__all__ = ["BoundQuery", "bind", "registered", "with_names"]
