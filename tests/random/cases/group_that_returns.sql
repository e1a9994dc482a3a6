-- A group that had emptied came back, and was kept a second time, in views made over rows in the order of their keys.
CREATE TABLE t (a INTEGER, b INTEGER);
CREATE MATERIALIZED VIEW v AS SELECT a AS c0, count(*) AS c1 FROM t GROUP BY a;
CREATE MATERIALIZED VIEW w AS SELECT DISTINCT a AS c0 FROM t;
-- batch
-- time
INSERT INTO t VALUES (1, 5), (2, 6), (3, 7), (4, 8), (1, 4), (4, 9);
-- batch
-- time
DELETE FROM t VALUES (4, 8), (4, 9), (1, 5);
-- batch
-- time
INSERT INTO t VALUES (4, 9);
-- batch
-- time
INSERT INTO t VALUES (1, 5), (4, 8);
