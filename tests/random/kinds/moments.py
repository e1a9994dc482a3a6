"""Dates, times, moments, and the time between them."""

from __future__ import annotations

import datetime

import pyarrow as pa

from tests.random.kinds.kind import Kind, Type


def _dates(*texts: str) -> tuple[datetime.date, ...]:
    return tuple(map(datetime.date.fromisoformat, texts))


def _moments(*texts: str) -> tuple[datetime.datetime, ...]:
    return tuple(map(datetime.datetime.fromisoformat, texts))


DATE = Kind(
    "DATE", "t",
    {"DATE": Type(
        pa.date32(), _dates("2019-12-31", "2020-01-01", "2020-01-31", "2020-02-29", "2020-03-01", "2021-01-31")
    )},
    odd=("DATE '2020-1-31'", "'2020-02-29'::DATE", "DATE '2020/03/01'", "'2020-01-31 '::DATE",
         "TIMESTAMP '2020-01-31 12:00:00'::DATE"),
    forms=(
        "CAST(<DATE> <+|-> INTERVAL <1..13> <DAY|MONTH|YEAR> AS DATE)", "(<DATE> <+|-> <1..40>)",
        "CAST(date_trunc('<month|year|quarter|week>', <DATE>) AS DATE)", "CAST(<TS> AS DATE)", "CAST(<TSZ> AS DATE)",
        "CAST(<DATE> + <IVL> AS DATE)", "last_day(<DATE>)",
    ),
    weight=2,
)  # fmt: skip

TS = Kind(
    "TS", "u",
    {
        "TIMESTAMP": Type(pa.timestamp("us"), _moments(
            "2019-12-31T23:59:59.999999", "2020-01-31", "2020-02-29T12:30:00", "2020-03-01T00:00:01"
        )),
        "TIMESTAMP_S": Type(pa.timestamp("s"), _moments("2019-12-31T23:59:59", "2020-01-31", "2020-02-29T12:30:00")),
        "TIMESTAMP_NS": Type(pa.timestamp("ns"), _moments(
            "2019-12-31T23:59:59.999999", "2020-01-31", "2020-02-29T12:30:00", "2020-03-01T00:00:01"
        )),
    },
    odd=("TIMESTAMP '2020-02-29'", "TIMESTAMP '2020-02-29T12:30:00'", "'2020-02-29 12:30'::TIMESTAMP",
         "TIMESTAMP '2020-02-29 12:30:00.5'", "DATE '2020-01-31'::TIMESTAMP"),
    forms=(
        "(<TS> <+|-> INTERVAL <1..40> <SECOND|HOUR|DAY|MONTH|YEAR>)", "date_trunc('<hour|day|month|quarter>', <TS>)",
        "(<DATE> + INTERVAL <1..3> DAY)", "CAST(<DATE> AS TIMESTAMP)", "(CAST(<TS> AS TIMESTAMP) <+|-> <IVL>)",
        "(<TSZ> AT TIME ZONE '<Europe/Zurich|America/New_York|Asia/Kolkata>')", "(<DATE> + <TIME>)",
        "time_bucket(INTERVAL '<1|3> <day|hour>', CAST(<TS> AS TIMESTAMP))",
    ),
    weight=2,
)  # fmt: skip

TSZ = Kind(
    "TSZ", "z",
    # Both changes of the clocks of Zurich: the hour that is skipped, and that which comes twice.
    {"TIMESTAMP WITH TIME ZONE": Type(pa.timestamp("us", "UTC"), _moments(
        "2020-03-28T23:30:00+00:00", "2020-03-29T00:59:59.999999+00:00", "2020-03-29T01:00:00+00:00",
        "2020-10-25T00:30:00+00:00", "2020-10-25T01:30:00+00:00", "2020-10-25T23:00:00+00:00",
    ))},
    odd=("TIMESTAMPTZ '2020-03-29 02:30'", "'2020-10-25 02:30'::TIMESTAMPTZ", "DATE '2020-10-25'::TIMESTAMPTZ"),
    forms=(
        "(<TSZ> <+|-> INTERVAL <1..30> <MINUTE|HOUR|DAY|MONTH>)", "date_trunc('<minute|hour|day|week|month>', <TSZ>)",
        "CAST(<DATE> AS TIMESTAMPTZ)", "CAST(CAST(<TS> AS TIMESTAMP) AS TIMESTAMPTZ)",
        "(CAST(<TS> AS TIMESTAMP) AT TIME ZONE '<Europe/Zurich|America/New_York|UTC>')", "(<TSZ> + <IVL>)",
        "time_bucket(INTERVAL '<1|3> <day|hour>', <TSZ>)",
    ),
)  # fmt: skip

TIME = Kind(
    "TIME", "h",
    {"TIME": Type(pa.time64("us"), tuple(map(
        datetime.time.fromisoformat, ("00:00:00", "02:30:00", "12:30:00.5", "23:59:59.999999")
    )))},
    odd=("'2:30'::TIME",),
    forms=("CAST(<TS> AS TIME)", "(<TIME> + INTERVAL <1..30> <MINUTE|HOUR>)"),
    weight=0.4,
)  # fmt: skip

IVL = Kind(
    "IVL", "n",
    # No two are equal: which of those that are a group shows is for whoever computes it.
    {"INTERVAL": Type(pa.month_day_nano_interval(), tuple(
        pa.MonthDayNano(parts)
        for parts in ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 29, 0), (-1, 0, 0), (0, 0, 3_600_000_000_000), (12, 3, -1000))
    ))},
    odd=("INTERVAL '1 month'", "INTERVAL 1 DAY", "'1 day'::INTERVAL", "to_hours(1)"),
    forms=("(<TS>::TIMESTAMP - <TS>::TIMESTAMP)", "(-<IVL>)", "(<TSZ> - <TSZ>)", "age(<TS>::TIMESTAMP, <TS>::TIMESTAMP)"),
    weight=0.6,
)  # fmt: skip
