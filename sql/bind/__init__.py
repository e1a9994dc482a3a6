"""From a query's text to typed IR: names, types, aggregates and order. `bind` is the entry."""

from sql.bind.query import BoundQuery, bind

__all__ = ["BoundQuery", "bind"]
