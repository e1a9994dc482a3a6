"""Views that were planned beside another, or by what it was planned by, which is dropped then, or replaced."""

from __future__ import annotations

TABLES = "b (a BIGINT, y BIGINT)", "c (a BIGINT, z BIGINT)", "e (a BIGINT, z BIGINT)"
ROWS = (
    "INSERT INTO b SELECT i, i FROM range(2000) r(i)",
    "INSERT INTO c SELECT i, i FROM range(2000) r(i)",
    "INSERT INTO e VALUES (0, 0)",
)
OTHER_SIZES = "DELETE FROM c WHERE z > 0", "INSERT INTO e SELECT i, i FROM range(10, 60000) r(i)"
JOIN = "FROM b JOIN c ON b.a = c.a JOIN e ON e.a = c.a AND e.z = b.y"
TOTAL = "SELECT count(*) + {k} AS n " + JOIN
GROUPS = "SELECT b.a, count(*) + {k} AS n " + JOIN + " GROUP BY b.a"


def run(db, *statements):
    for each in statements:
        db.sql(each)


def view(name, query, *, replaces=False):
    return f"CREATE {'OR REPLACE ' if replaces else ''}MATERIALIZED VIEW {name} AS {query}"


DROPPED = {
    "a fragment": (view("v", TOTAL.format(k=1)), *OTHER_SIZES, view("w", TOTAL.format(k=2)), "DROP VIEW v"),
    "a join": (view("v", GROUPS.format(k=1)), *OTHER_SIZES, view("w", GROUPS.format(k=2)), "DROP VIEW v"),
    "an arrangement": (
        view("v", "SELECT b.a, count(*) AS n FROM b JOIN c ON b.a = c.a GROUP BY b.a"),
        view("w", "SELECT b.a, count(*) AS n FROM b JOIN c ON b.a = c.a AND b.y = c.z GROUP BY b.a"),
        "DROP VIEW v",
    ),
    "of the one that replaced it": (
        view("v", TOTAL.format(k=1)),
        *OTHER_SIZES,
        view("w", TOTAL.format(k=2)),
        view("v", GROUPS.format(k=3), replaces=True),
    ),
    "of the same view": (
        view("v", TOTAL.format(k=1)),
        *OTHER_SIZES,
        view("v", TOTAL.format(k=2), replaces=True),
    ),
    "of three": (
        view("v", TOTAL.format(k=1)),
        view("w", TOTAL.format(k=2)),
        *OTHER_SIZES,
        view("x", TOTAL.format(k=3)),
        "DROP VIEW w",
        "DROP VIEW v",
    ),
    "under an index that came later": (
        view("v", "SELECT e.z, count(*) AS n FROM b JOIN c ON b.a = c.a JOIN e ON e.z = b.y GROUP BY e.z"),
        "CREATE UNIQUE INDEX i ON c (z)",
        "CREATE UNIQUE INDEX j ON e (z)",
    ),
}
