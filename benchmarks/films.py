"""Films as a film database has them, and views over them: what cardinality is hard about, beside TPC-H.

Many films have few people and few films have many, tables link others n to m, some keys and references have two
columns, and what is asked for together belongs together: what is an episode has a series, and what is old is short.
"""

from __future__ import annotations

from ivm.session.database import Database

_TABLES = """
CREATE TABLE kind (kind BIGINT PRIMARY KEY, name VARCHAR NOT NULL);
CREATE TABLE role (role BIGINT PRIMARY KEY, name VARCHAR NOT NULL);
CREATE TABLE keyword (keyword BIGINT PRIMARY KEY, word VARCHAR NOT NULL);
CREATE TABLE company (company BIGINT PRIMARY KEY, name VARCHAR NOT NULL, country VARCHAR);
CREATE TABLE person (person BIGINT PRIMARY KEY, name VARCHAR NOT NULL, gender VARCHAR);
CREATE TABLE film (film BIGINT PRIMARY KEY, title VARCHAR NOT NULL, kind BIGINT NOT NULL REFERENCES kind (kind),
    year INTEGER NOT NULL, series BIGINT);
CREATE TABLE film_keyword (film BIGINT NOT NULL REFERENCES film (film),
    keyword BIGINT NOT NULL REFERENCES keyword (keyword), PRIMARY KEY (film, keyword));
CREATE TABLE film_company (film BIGINT NOT NULL REFERENCES film (film),
    company BIGINT NOT NULL REFERENCES company (company), note VARCHAR, PRIMARY KEY (film, company));
CREATE TABLE played (id BIGINT PRIMARY KEY, film BIGINT NOT NULL REFERENCES film (film),
    person BIGINT NOT NULL REFERENCES person (person), role BIGINT NOT NULL REFERENCES role (role), note VARCHAR);
CREATE TABLE hall (cinema BIGINT NOT NULL, hall BIGINT NOT NULL, seats INTEGER NOT NULL, town VARCHAR NOT NULL,
    PRIMARY KEY (cinema, hall));
CREATE TABLE shown (film BIGINT NOT NULL REFERENCES film (film), cinema BIGINT NOT NULL, hall BIGINT NOT NULL,
    day DATE NOT NULL, slot INTEGER NOT NULL, PRIMARY KEY (cinema, hall, day, slot),
    FOREIGN KEY (cinema, hall) REFERENCES hall (cinema, hall));
CREATE TABLE ticket (id BIGINT PRIMARY KEY, cinema BIGINT NOT NULL, hall BIGINT NOT NULL, day DATE NOT NULL,
    slot INTEGER NOT NULL, price DECIMAL(9, 2) NOT NULL,
    FOREIGN KEY (cinema, hall, day, slot) REFERENCES shown (cinema, hall, day, slot));
"""

_RANDOM = "(hash({0} * 31 + {1}) % 1000003 / 1000003.0)"
"""A number from 0 to 1 that depends on a column and on a seed alone."""


def _chance(column: str, seed: int, size: int, skew: int = 1) -> str:
    """A number below `size`; the greater the skew, the more often a small one."""
    return f"CAST(floor({size} * pow({_RANDOM.format(column, seed)}, {skew})) AS BIGINT)"


_ROWS = {
    "kind": "SELECT i, 'kind ' || i FROM range(7) t(i)",
    "role": "SELECT i, 'role ' || i FROM range(12) t(i)",
    "keyword": "SELECT i, 'word ' || i FROM range(3000) t(i)",
    "company": f"SELECT i, 'company ' || i, 'country ' || {_chance('i', 1, 80, 4)} FROM range(2000) t(i)",
    "person": f"SELECT i, 'person ' || i, CASE {_chance('i', 2, 5)} WHEN 0 THEN NULL WHEN 1 THEN 'f' ELSE 'm' END "
    "FROM range(30000) t(i)",
    "film": f"SELECT i, 'title ' || i, k, 2026 - {_chance('i', 3, 120, 3)}, "
    f"CASE k WHEN 0 THEN {_chance('i', 4, 900, 2)} END FROM "
    f"(SELECT i, {_chance('i', 5, 7, 3)} AS k FROM range(20000) t(i))",
    "film_keyword": f"SELECT DISTINCT {_chance('i', 6, 20000, 2)}, {_chance('i', 7, 3000, 3)} FROM range(60000) t(i)",
    "film_company": "SELECT f, c, any_value(CASE WHEN i % 3 = 0 THEN '(co-production)' END) FROM (SELECT i, "
    f"{_chance('i', 8, 20000, 1)} AS f, {_chance('i', 9, 2000, 3)} AS c FROM range(30000) t(i)) GROUP BY f, c",
    "played": f"SELECT i, {_chance('i', 10, 20000, 3)}, {_chance('i', 11, 30000, 2)}, {_chance('i', 12, 12, 2)}, "
    "CASE WHEN i % 5 = 0 THEN '(voice)' END FROM range(150000) t(i)",
    "hall": f"SELECT i // 5, i % 5, 50 + {_chance('i', 13, 400, 2)}, 'town ' || (i // 5 % 60) FROM range(600) t(i)",
    "shown": f"SELECT {_chance('i', 14, 20000, 4)}, i % 600 // 5, i % 5, "
    "DATE '2026-01-01' + CAST(i // 2400 AS INTEGER), i // 600 % 4 FROM range(72000) t(i)",
    "ticket": "SELECT i, n % 600 // 5, n % 5, DATE '2026-01-01' + CAST(n // 2400 AS INTEGER), n // 600 % 4, 5 + i % 9 "
    f"FROM (SELECT i, {_chance('i', 15, 72000, 2)} AS n FROM range(100000) t(i))",
}

_VIEWS = """
-- company of kind
SELECT min(f.title), min(c.name) FROM film f JOIN kind USING (kind) JOIN film_company fc USING (film) JOIN
    company c USING (company) WHERE kind.name = 'kind 1' AND c.country = 'country 0' AND fc.note IS NULL AND
    f.year BETWEEN 2000 AND 2010
-- people by keyword
SELECT p.name, count(*) FROM keyword k JOIN film_keyword USING (keyword) JOIN played USING (film) JOIN person p
    USING (person) JOIN role r USING (role) WHERE k.word = 'word 7' AND r.name = 'role 0' AND p.gender = 'f'
    GROUP BY p.name
-- voices
SELECT f.film, f.title, count(DISTINCT x.person) FROM film f JOIN played x USING (film) JOIN person p USING
    (person) WHERE x.note = '(voice)' AND p.name LIKE '%99%' GROUP BY f.film, f.title
-- who plays together
SELECT a.person, b.person, count(*) FROM played a JOIN played b USING (film) JOIN film USING (film) WHERE
    a.person < b.person AND film.year < 1950 GROUP BY a.person, b.person HAVING count(*) > 1
-- films of two words
SELECT f.title FROM film f WHERE EXISTS (SELECT 1 FROM film_keyword JOIN keyword k USING (keyword) WHERE film =
    f.film AND k.word IN ('word 1', 'word 2')) AND NOT EXISTS (SELECT 1 FROM film_company WHERE film = f.film)
-- companies and words
SELECT c.country, k.word, count(*) FROM film_company JOIN company c USING (company) JOIN film_keyword USING
    (film) JOIN keyword k USING (keyword) GROUP BY c.country, k.word
-- episodes
SELECT series, count(*), min(year), max(year) FROM film WHERE series IS NOT NULL GROUP BY series HAVING count(*)
    > 20
-- earnings
SELECT f.title, sum(t.price) FROM ticket t JOIN shown s USING (cinema, hall, day, slot) JOIN film f USING (film)
    JOIN hall h ON h.cinema = t.cinema AND h.hall = t.hall WHERE h.town = 'town 3' GROUP BY f.title
-- full houses
SELECT s.film, s.day, h.seats, count(*) FROM shown s JOIN hall h USING (cinema, hall) JOIN ticket USING (cinema,
    hall, day, slot) GROUP BY s.film, s.day, s.cinema, s.hall, s.slot, h.seats HAVING count(*) > 3
-- towns by day
SELECT h.town, s.day, count(*) FROM shown s JOIN hall h USING (cinema, hall) WHERE s.day >= '2026-01-20' GROUP
    BY h.town, s.day
-- above its cinema
SELECT t.id FROM ticket t WHERE t.price > (SELECT 1.2 * avg(price) FROM ticket o WHERE o.cinema = t.cinema)
-- latest of each company
SELECT company, title FROM (SELECT company, title, row_number() OVER (PARTITION BY company ORDER BY year DESC,
    film) r FROM film_company JOIN film USING (film)) WHERE r <= 3
"""

VIEWS = dict(view.strip().split("\n", 1) for view in _VIEWS.split("-- ")[1:])
"""The texts of views, by their names."""


def filled(db: Database) -> None:
    """Make the tables in a database, and put some 450,000 rows into them, always the same."""
    db.sql(_TABLES)
    for table, query in _ROWS.items():
        db.sql(f"INSERT INTO {table} {query}")
