-- Rows that had no partner went and came back; those without one were groups that were kept twice, then retracted.
CREATE TABLE l (k INTEGER, b INTEGER, e INTEGER);
CREATE MATERIALIZED VIEW v AS SELECT l.k AS c0, r.k AS c1 FROM l LEFT JOIN l r ON l.b < r.e AND l.k + r.k < 10;
-- batch
-- time
INSERT INTO l VALUES (0, 0, 1), (1, 1, 2), (2, 2, 3), (3, 3, 4), (4, 4, 5), (5, 5, 6), (6, 6, 7), (7, 7, 8);
-- batch
-- time
DELETE FROM l VALUES (7, 7, 8), (4, 4, 5);
-- batch
-- time
INSERT INTO l VALUES (7, 7, 8);
-- batch
-- time
INSERT INTO l VALUES (4, 4, 5);
