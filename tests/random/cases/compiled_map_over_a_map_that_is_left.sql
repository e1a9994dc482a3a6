-- a map that has no compiled form, over a map that is left to the interpreter
CREATE TABLE t0 (K INTEGER NOT NULL, k1 BIGINT NOT NULL, L1 INTEGER[] NOT NULL, T1 DATE, "end" VARCHAR, PRIMARY KEY (K, k1));
CREATE TABLE t1 (n1 INTERVAL, v1 INTEGER[2] NOT NULL);
CREATE MATERIALIZED VIEW v0 AS SELECT (SELECT normalized_interval(CAST(min((-a4.n1)) AS INTERVAL)) AS C0 FROM t1 AS a3 RIGHT JOIN "t1" AS a4 ON a3.v1 = a4.v1 CROSS JOIN LATERAL (SELECT * FROM (VALUES ((1_0), 'b'), ((- 1), 'B'), (2, 'abc')) AS q5 (c0, c1)) AS l6 WHERE l6.c0 = l6.c0 GROUP BY a3.n1 HAVING (CAST(NULL AS INTERVAL) > CASE a1.c0 WHEN a1.c0 THEN min((-a4.n1)) ELSE a1.c2 END) IS NOT TRUE) AS c0 FROM (SELECT min(CAST(make_timestamp_ns(CAST(3 AS BIGINT)) AS TIMESTAMP)) AS c0, max((TIMESTAMPTZ '2020-03-29 01:00:00+00:00' - TIMESTAMPTZ '2020-03-28 23:30:00+00:00')) FILTER (WHERE (a2.v1 <= CAST([0, 1] AS INTEGER[2])) IS NOT TRUE) AS c1, min(age(TIMESTAMP '2019-12-31 23:59:59.999999'::TIMESTAMP, TIMESTAMP '2020-02-29 12:30:00'::TIMESTAMP)) AS c2, count(*) FILTER (WHERE a2.v1 = a2.v1) AS c3 FROM t1 AS a2 GROUP BY a2.n1, a2.v1 HAVING extract(day FROM coalesce(TIMESTAMPTZ '2020-10-25 23:00:00+00:00', TIMESTAMPTZ '2020-01-01')) <> round((1e0::DECIMAL(9,2)), 1)) AS a1 WHERE CASE WHEN NOT ((a1.c0 < a1.c0) IS NOT TRUE) THEN length('ab') ELSE if(a1.c1 NOT BETWEEN a1.c1 AND a1.c2, a1.c3, a1.c3) END NOT BETWEEN extract(day FROM coalesce(a1.c0, TIMESTAMP '2020-01-01')) AND CASE WHEN a1.c0 = (localtimestamp - (localtimestamp - TIMESTAMP '2020-02-15 12:00:00')) THEN a1.c3 END;
-- ways 379021
-- batch
-- time
INSERT INTO t0 VALUES (7, 8, [], DATE '2021-01-31', 'B'), (6, 0, [0, 3], DATE '2021-01-31', 'B'), (8, 8, [1, 2], DATE '2021-01-31', 'b'), (8, 4, [2], NULL, NULL), (9, 5, [0, 3], NULL, NULL), (5, 6, [2], NULL, NULL);
INSERT INTO t1 VALUES (INTERVAL '-1 months 0 days 0 microseconds', [0, 1]), (INTERVAL '0 months 0 days 0 microseconds', [1, 0]), (INTERVAL '0 months 0 days 3600000000 microseconds', [NULL, NULL]), (INTERVAL '0 months 29 days 0 microseconds', [1, 0]), (INTERVAL '12 months 3 days -1 microseconds', [0, 1]), (INTERVAL '0 months 0 days 0 microseconds', [0, 1]), (INTERVAL '0 months 0 days 3600000000 microseconds', [1, 0]);
-- batch
-- time
DELETE FROM t0 VALUES (7, 8, [], DATE '2021-01-31', 'B');
-- batch
-- time
INSERT INTO t0 VALUES (7, 8, [], DATE '2021-01-31', 'B');
DELETE FROM t1 VALUES (INTERVAL '0 months 0 days 3600000000 microseconds', [NULL, NULL]), (INTERVAL '0 months 29 days 0 microseconds', [1, 0]);
-- batch
-- time
INSERT INTO t1 VALUES (INTERVAL '0 months 0 days 3600000000 microseconds', [NULL, NULL]), (INTERVAL '0 months 29 days 0 microseconds', [1, 0]);
-- batch
-- time
DELETE FROM t1 VALUES (INTERVAL '0 months 0 days 0 microseconds', [1, 0]), (INTERVAL '0 months 0 days 3600000000 microseconds', [1, 0]), (INTERVAL '0 months 29 days 0 microseconds', [1, 0]);
-- batch
-- time
INSERT INTO t1 VALUES (INTERVAL '0 months 0 days 3600000000 microseconds', [1, 0]);
-- batch
-- time
INSERT INTO t1 VALUES (INTERVAL '0 months 0 days 0 microseconds', [1, 0]), (INTERVAL '0 months 29 days 0 microseconds', [1, 0]);
