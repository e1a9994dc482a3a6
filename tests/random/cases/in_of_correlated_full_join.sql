-- A full join whose condition reads an outer row could not be installed.
CREATE TABLE t1 (r1 BIGINT NOT NULL, s1 VARCHAR NOT NULL, t1 DATE);
CREATE TABLE t2 (k INTEGER NOT NULL, r2 BIGINT NOT NULL, PRIMARY KEY (k));
CREATE MATERIALIZED VIEW v2 AS SELECT a2.r1 AS c0 FROM t1 AS a2 WHERE a2.t1 IN (SELECT a2.t1 AS c0 FROM t2 AS a4 FULL JOIN t2 AS a6 ON strpos(a2.s1, '') = a6.k);
-- batch
-- time
INSERT INTO t1 VALUES (1, 'a', '2020-01-01'), (2, '', NULL), (3, '', '2020-01-01');
-- time
INSERT INTO t2 VALUES (0, 1), (1, 2);
-- batch
-- time
DELETE FROM t2 VALUES (1, 2);
