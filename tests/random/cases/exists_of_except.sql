-- A join kept an arrangement of rows that count less than zero times.
CREATE TABLE t0 (id INTEGER NOT NULL, PRIMARY KEY (id));
CREATE TABLE t1 (id BIGINT NOT NULL, dept INTEGER, PRIMARY KEY (id));
CREATE TABLE t2 (emp BIGINT);
CREATE MATERIALIZED VIEW v0 AS SELECT d.id FROM t0 AS d WHERE EXISTS (SELECT id FROM t1 AS e WHERE e.dept = d.id EXCEPT SELECT emp FROM t2);
-- batch
-- time
INSERT INTO t2 VALUES (NULL), (3);
-- batch
-- time
INSERT INTO t0 VALUES (1), (2);
INSERT INTO t1 VALUES (3, 1), (4, 2), (5, NULL);
-- batch
-- time
DELETE FROM t2 VALUES (3);
INSERT INTO t2 VALUES (4);
