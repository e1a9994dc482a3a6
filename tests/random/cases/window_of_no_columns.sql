-- A window over rows of which no column is read had no columns at all.
CREATE TABLE t0 (k INTEGER NOT NULL, i1 BIGINT, b1 BOOLEAN NOT NULL, i2 INTEGER, PRIMARY KEY (k));
CREATE MATERIALIZED VIEW v0 AS SELECT sum(1) OVER () AS c0 FROM t0 AS a3;
CREATE MATERIALIZED VIEW v1 AS SELECT count(*) OVER () AS c0, row_number() OVER () AS c1 FROM t0 AS a3;
-- batch
-- time
INSERT INTO t0 VALUES (7, 0, true, 2), (8, 0, true, 2);
-- batch
-- time
DELETE FROM t0 VALUES (7, 0, true, 2);
