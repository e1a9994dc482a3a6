-- a column that is NOT NULL stays so when an equal one stands for it over shards
CREATE TABLE t0 (k INTEGER NOT NULL, k1 BIGINT NOT NULL, s1 VARCHAR NOT NULL, b1 BOOLEAN NOT NULL, f1 DOUBLE, PRIMARY KEY (k, k1));
CREATE TABLE t1 (d1 DECIMAL(9,2), i1 BIGINT NOT NULL, i2 BIGINT NOT NULL, s1 VARCHAR);
CREATE TABLE t2 (k INTEGER NOT NULL, b1 BOOLEAN, i1 BIGINT NOT NULL, PRIMARY KEY (k));
CREATE TABLE t3 (u1 TIMESTAMP, i1 INTEGER);
CREATE MATERIALIZED VIEW v0 AS SELECT a6.b1 AS c2, a4.s1 AS "c3" FROM t2 AS a1 FULL JOIN t3 AS a3 ON a1.k = a3.i1 LEFT JOIN t0 AS a4 ON a1.k = a4.k1 RIGHT JOIN t0 AS a6 ON a3.i1 = a6.k1 WHERE NOT a1.k IN (SELECT a2.i1 FROM t1 AS a2 WHERE NOT a2.s1 IS NULL) AND NOT EXISTS(SELECT 1 FROM t1 AS a5 WHERE a4.s1 = a5.s1) AND NOT EXISTS(SELECT 1 FROM t3 AS a7 WHERE a6.k = a7.i1);
-- ways 551114
-- batch
-- time
INSERT INTO t0 VALUES (6, 8, '', false, 2.0::DOUBLE), (6, 4, 'B', false, 2.0::DOUBLE), (9, 1, 'ab', true, 0.5::DOUBLE), (3, 0, 'é', true, 0.5::DOUBLE), (6, 2, 'B', false, 2.0::DOUBLE), (5, 7, 'ab', false, 2.0::DOUBLE);
INSERT INTO t1 VALUES ((-1.00), 3, 1, 'b'), (0.00, 1, 1, NULL), (1.00, 1, 1, NULL), (1.50, 1, 1, NULL), (1.00, 3, 1, 'b'), (1.00, 3, 1, 'b'), (0.00, 3, 5, 'a b'), (1.50, 1, 1, NULL);
INSERT INTO t2 VALUES (4, false, 1), (9, false, 2), (0, true, 2);
INSERT INTO t3 VALUES (TIMESTAMP '2019-12-31 23:59:59.999999', 0), (TIMESTAMP '2020-01-31 00:00:00', 1), (TIMESTAMP '2020-02-29 12:30:00', 1), (TIMESTAMP '2020-03-01 00:00:01', 0), (TIMESTAMP '2019-12-31 23:59:59.999999', 0), (TIMESTAMP '2020-01-31 00:00:00', 3), (TIMESTAMP '2020-03-01 00:00:01', 0), (TIMESTAMP '2020-03-01 00:00:01', 3);
-- batch
-- time
DELETE FROM t0 VALUES (9, 1, 'ab', true, 0.5::DOUBLE), (5, 7, 'ab', false, 2.0::DOUBLE), (6, 2, 'B', false, 2.0::DOUBLE);
DELETE FROM t2 VALUES (4, false, 1), (9, false, 2), (0, true, 2);
-- batch
-- time
DELETE FROM t0 VALUES (6, 8, '', false, 2.0::DOUBLE), (6, 4, 'B', false, 2.0::DOUBLE);
INSERT INTO t0 VALUES (6, 2, 'B', false, 2.0::DOUBLE), (9, 1, 'ab', true, 0.5::DOUBLE);
DELETE FROM t1 VALUES (0.00, 3, 5, 'a b'), (0.00, 1, 1, NULL), (1.00, 3, 1, 'b');
INSERT INTO t2 VALUES (0, true, 2);
-- batch
-- time
DELETE FROM t0 VALUES (9, 1, 'ab', true, 0.5::DOUBLE), (6, 2, 'B', false, 2.0::DOUBLE), (3, 0, 'é', true, 0.5::DOUBLE);
INSERT INTO t0 VALUES (5, 7, 'ab', false, 2.0::DOUBLE), (6, 8, '', false, 2.0::DOUBLE);
INSERT INTO t1 VALUES (0.00, 1, 1, NULL);
DELETE FROM t2 VALUES (0, true, 2);
DELETE FROM t3 VALUES (TIMESTAMP '2019-12-31 23:59:59.999999', 0), (TIMESTAMP '2019-12-31 23:59:59.999999', 0), (TIMESTAMP '2020-03-01 00:00:01', 0), (TIMESTAMP '2020-03-01 00:00:01', 0);
-- batch
-- time
INSERT INTO t0 VALUES (9, 1, 'ab', true, 0.5::DOUBLE), (6, 4, 'B', false, 2.0::DOUBLE), (6, 2, 'B', false, 2.0::DOUBLE);
DELETE FROM t1 VALUES (1.50, 1, 1, NULL), (1.00, 1, 1, NULL);
INSERT INTO t3 VALUES (TIMESTAMP '2020-03-01 00:00:01', 0), (TIMESTAMP '2019-12-31 23:59:59.999999', 0), (TIMESTAMP '2020-03-01 00:00:01', 0);
-- batch
-- time
DELETE FROM t0 VALUES (5, 7, 'ab', false, 2.0::DOUBLE), (6, 8, '', false, 2.0::DOUBLE), (9, 1, 'ab', true, 0.5::DOUBLE), (6, 4, 'B', false, 2.0::DOUBLE), (6, 2, 'B', false, 2.0::DOUBLE);
DELETE FROM t1 VALUES ((-1.00), 3, 1, 'b');
INSERT INTO t1 VALUES (1.50, 1, 1, NULL);
INSERT INTO t2 VALUES (4, false, 1), (0, true, 2);
INSERT INTO t3 VALUES (TIMESTAMP '2019-12-31 23:59:59.999999', 0);
-- batch
-- time
INSERT INTO t1 VALUES ((-1.00), 3, 1, 'b');
DELETE FROM t2 VALUES (4, false, 1);
-- batch
-- time
DELETE FROM t1 VALUES (1.00, 3, 1, 'b'), (1.50, 1, 1, NULL), (1.50, 1, 1, NULL), (0.00, 1, 1, NULL), ((-1.00), 3, 1, 'b');
DELETE FROM t2 VALUES (0, true, 2);
-- batch
-- time
INSERT INTO t1 VALUES ((-1.00), 3, 1, 'b'), (1.50, 1, 1, NULL);
INSERT INTO t2 VALUES (0, true, 2), (9, false, 2), (4, false, 1);
DELETE FROM t3 VALUES (TIMESTAMP '2020-03-01 00:00:01', 0);
-- batch
-- time
INSERT INTO t0 VALUES (3, 0, 'é', true, 0.5::DOUBLE);
INSERT INTO t1 VALUES (0.00, 1, 1, NULL), (1.50, 1, 1, NULL), (1.00, 3, 1, 'b');
DELETE FROM t3 VALUES (TIMESTAMP '2020-02-29 12:30:00', 1), (TIMESTAMP '2019-12-31 23:59:59.999999', 0);
INSERT INTO t3 VALUES (TIMESTAMP '2020-03-01 00:00:01', 0);
-- batch
-- time
DELETE FROM t0 VALUES (3, 0, 'é', true, 0.5::DOUBLE);
INSERT INTO t1 VALUES (1.00, 3, 1, 'b'), (0.00, 3, 5, 'a b');
DELETE FROM t2 VALUES (9, false, 2), (4, false, 1);
INSERT INTO t3 VALUES (TIMESTAMP '2019-12-31 23:59:59.999999', 0), (TIMESTAMP '2020-02-29 12:30:00', 1);
