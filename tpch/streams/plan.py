"""What a kind of stream says about itself, and the small tools that all kinds share."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ivm.tpch.schema import DIFF, TIME, relations

BASE_TIME = 1
FIRST_CHANGE = BASE_TIME + 1
INSERT, DELETE = 1, -1


@dataclass(frozen=True, slots=True)
class RelationChanges:
    """The changes of one relation: a frame with the relation's columns, `_time` and `_diff`.

    `rows` is how many they are, about. `in_order` says that the frame's partitions, and the rows in them, already come
    in the order of time. `append_only` says that every diff is +1.
    """

    relation: str
    frame: DataFrame
    rows: int
    in_order: bool
    append_only: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """A stream to be written: the relations whose generated rows are its base snapshot, and then its changes.

    `parameters` are recorded in the manifest; the times of the changes are [first_time, last_time].
    """

    base: tuple[str, ...]
    changes: tuple[RelationChanges, ...]
    first_time: int
    last_time: int
    parameters: dict[str, int]


def updates(frame: DataFrame, relation: str, time: Column, diff: Column | int) -> DataFrame:
    """The relation's columns of `frame` with `_time` and `_diff`."""
    signed = diff if isinstance(diff, Column) else F.lit(diff)
    columns = relations()[relation].columns
    return frame.select(*columns, time.cast("bigint").alias(TIME), signed.cast("bigint").alias(DIFF))


def chance(seed: int, purpose: str, key: Column, below: int) -> Column:
    """A pseudo-random integer in [0, below) that depends on nothing but the seed, its purpose and the row's key."""
    return F.pmod(F.xxhash64(F.lit(seed), F.lit(purpose), key.cast("bigint")), F.lit(below))
