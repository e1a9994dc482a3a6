"""Loops over the tables of `tests.cluster.histories`: some that carry a column along, and some that are gathered."""

from __future__ import annotations

_NEXT = "SELECT r.s, x.a FROM r JOIN sale x ON r.d = x.at"
_CLOSURE = f"WITH RECURSIVE r(s, d) AS (SELECT at, a FROM sale UNION {_NEXT})"
_MUTUAL = "WITH MUTUALLY RECURSIVE"
CARRYING = {
    "closure": f"{_CLOSURE} SELECT s, d FROM r",
    "from texts": "WITH RECURSIVE r(t, v) AS (SELECT t, a FROM bag UNION "
    "SELECT r.t, x.a FROM r JOIN sale x ON r.v = x.at) SELECT t, v FROM r",
    "within a text": "WITH RECURSIVE r(t, v) AS (SELECT t, a FROM bag UNION "
    "SELECT r.t, x.a FROM r JOIN sale x ON r.v = x.at AND r.t = x.t) SELECT t, v FROM r",
    "paths": "WITH RECURSIVE r(s, d, n) AS (SELECT at, a, 1 FROM sale UNION ALL "
    "SELECT r.s, x.a, n + 1 FROM r JOIN sale x ON r.d = x.at WHERE n < 3) "
    "SELECT s, d, count(*) AS n, min(n) AS least FROM r GROUP BY s, d",
    "joined where it is": f"{_CLOSURE} SELECT city, count(*) AS n FROM r JOIN shop ON shop.id = r.s GROUP BY city",
    "joined elsewhere": f"{_CLOSURE} SELECT s, city FROM r LEFT JOIN shop ON shop.id = r.d",
    "not reached": f"{_CLOSURE} SELECT id, city FROM shop WHERE id NOT IN (SELECT d FROM r WHERE d IS NOT NULL)",
    "twice": f"{_MUTUAL} r(id BIGINT, s BIGINT, d BIGINT) AS (SELECT id, at, a FROM sale UNION "
    "SELECT x.id, x.s, y.d FROM r x JOIN r y ON x.d = y.s AND x.id = y.id) SELECT id, s, d FROM r",
    "shortest": f"{_MUTUAL} r(s BIGINT, v BIGINT, x BIGINT) AS (SELECT s, v, min(x) FROM ("
    "SELECT at AS s, at AS v, 0 AS x FROM sale UNION ALL "
    "SELECT r.s, e.a, r.x + 1 + e.id FROM r JOIN sale e ON r.v = e.at) GROUP BY s, v) SELECT s, v, x FROM r",
    "small ones first": f"{_MUTUAL} r(s BIGINT, v BIGINT, x BIGINT) AS (SELECT s, v, min(x) FROM ("
    "SELECT at AS s, at AS v, 0 AS x FROM sale UNION ALL "
    "SELECT r.s, e.a, r.x + e.id FROM r JOIN sale e ON r.v = e.at WHERE e.id >= 0) GROUP BY s, v) SELECT s, v, x FROM r",
    "even and odd": f"{_MUTUAL} ev(s VARCHAR, v BIGINT) AS (SELECT t, a FROM bag UNION "
    "SELECT od.s, x.a FROM od JOIN sale x ON od.v = x.at), "
    "od(v BIGINT, s VARCHAR) AS (SELECT DISTINCT x.a, ev.s FROM ev JOIN sale x ON ev.v = x.at) "
    "SELECT ev.s, ev.v, od.v AS w FROM ev LEFT JOIN od ON ev.s = od.s AND ev.v = od.v",
    "won": f"{_MUTUAL} hi(t VARCHAR, v BIGINT) AS (SELECT DISTINCT t, at FROM sale x WHERE NOT EXISTS ("
    "SELECT 1 FROM lo WHERE lo.t = x.t AND lo.v = x.a)), lo(t VARCHAR, v BIGINT) AS (SELECT DISTINCT t, at FROM sale x "
    "WHERE NOT EXISTS (SELECT 1 FROM hi WHERE hi.t = x.t AND hi.v = x.a)) SELECT t, v FROM lo",
    "three rounds": f"{_MUTUAL} (RETURN AT RECURSION LIMIT 3) r(s BIGINT, d BIGINT, n BIGINT) AS ("
    "SELECT at, a, 1 FROM sale UNION ALL SELECT r.s, x.a, r.n * 2 FROM r JOIN sale x ON r.d = x.at) SELECT s, d, n FROM r",
    "first of each": f"{_MUTUAL} r(s BIGINT, d BIGINT) AS (SELECT at, a FROM sale UNION SELECT s, d FROM ("
    "SELECT s, d, row_number() OVER (PARTITION BY s, at ORDER BY d) AS k FROM ("
    "SELECT r.s, x.at, x.a AS d FROM r JOIN sale x ON r.d = x.at)) WHERE k <= 2) SELECT s, d FROM r",
}
GATHERED = {
    "reached": "WITH RECURSIVE r(v) AS (SELECT a FROM bag UNION SELECT x.a FROM r JOIN sale x ON r.v = x.at) SELECT v FROM r",
    "from one": f"{_CLOSURE} SELECT d FROM r WHERE s = 2",
    "from a shop": "WITH RECURSIVE r(v) AS (SELECT id FROM shop UNION "
    "SELECT x.a FROM r JOIN sale x ON r.v = x.at JOIN shop ON shop.id = x.a) SELECT v FROM r",
    "twice what was found": "WITH RECURSIVE r(s, d) AS (SELECT at, a FROM sale UNION "
    "SELECT x.s, y.d FROM r x JOIN r y ON x.d = y.s) SELECT s, d FROM r",
    "few": f"{_MUTUAL} r(v BIGINT) AS (SELECT a FROM bag UNION SELECT x.a FROM r JOIN sale x ON r.v = x.at JOIN n ON n.n >= 0), "
    "n(n BIGINT) AS (SELECT count(*) FROM r) SELECT n, v FROM n LEFT JOIN r ON true",
    "few rounds": f"{_MUTUAL} (RETURN AT RECURSION LIMIT 2) n(n BIGINT, s BIGINT) AS (SELECT count(*), CAST(sum(v) AS BIGINT) FROM r), "
    "r(v BIGINT) AS (SELECT a FROM bag UNION ALL SELECT n.n FROM n) SELECT n, s FROM n",
}
