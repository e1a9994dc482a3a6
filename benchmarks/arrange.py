"""`ivm tpch bench arrange`: insert into, look up in and seal one arrangement, under load that comes whatever happens.

The setting of "Shared Arrangements", section 6.2 and figure 7: identifiers of 64 bits, of which some come and some go
all the time, at a rate that is halved again and again; the latencies with their tails.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from ivm.benchmarks import output
from ivm.benchmarks.arrange_engine import STEPS, Task
from ivm.benchmarks.asking import shown
from ivm.benchmarks.figures import SHARES, Figure, one, spread
from ivm.tpch.report import size

_ENGINE = "ivm.benchmarks.arrange_engine"
_COLUMNS = ("changes a second", "changes\na tick", "p50 ms", "p99 ms", "p99.9 ms", "max ms", "peak\nmemory")

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def arrange(
    keys: Annotated[int, typer.Option(min=10, help="Identifiers that are there.")] = 10_000_000,
    rate: Annotated[int, typer.Option(min=1, help="The largest rate: changes a second.")] = 1_000_000,
    rates: Annotated[int, typer.Option(min=1, help="How many rates, each a quarter of the one before.")] = 4,
    seconds: Annotated[float, typer.Option(min=0.01, help="For how long at each rate.")] = 10.0,
    json_file: Annotated[Path, typer.Option("--json", help="Where to write.")] = Path("results/arrange.json"),
) -> None:
    """Latencies of one arrangement under open-loop load, and what each of its steps costs."""
    began = time.monotonic()
    wanted = [rate // 4**i for i in range(rates) if rate // 4**i > 0]
    loops = [shown(_ENGINE, Task(keys, each, seconds), f"{each:,} changes a second", "identifiers") for each in wanted]
    closed = shown(_ENGINE, Task(keys, 0, seconds), "batch after batch", "identifiers")
    rows = [_row(each, found) for each, found in zip(wanted, loops, strict=True)]
    output.table(f"one arrangement of {keys:,} identifiers, one thread", _COLUMNS, rows)
    middle = {step: closed["steps_ns"][step][SHARES.index(0.5)] for step in STEPS}
    output.note(
        "batches of 10,000, ns a change: " + ", ".join(f"{step} {value:,.0f}" for step, value in middle.items())
    )
    figures = [figure for each, found in zip(wanted, loops, strict=True) for figure in _figures(each, found)]
    parameters = {"keys": keys, "rate": rate, "rates": rates, "seconds": seconds}
    detail = {"open": dict(zip(wanted, loops, strict=True)), "closed": closed}
    output.save("arrange", parameters, [*figures, *_closed(closed)], detail, json_file, began)


def _figures(rate: int, found: dict[str, Any]) -> list[Figure]:
    count = found["ticks"]
    steps = [spread("step", "ms", found["steps_ms"][step], count, rate=rate, step=step) for step in STEPS]
    return [
        spread("change", "ms", found["quantiles_ms"], count, rate=rate),
        *steps,
        one("peak memory", "B", found["peak_bytes"], rate=rate),
    ]


def _closed(found: dict[str, Any]) -> list[Figure]:
    """Of batch after batch."""
    count, repeats = found["batches"], found["repeats"]
    return [
        *(spread("cost a change", "ns", found["steps_ns"][step], count, step=step) for step in STEPS),
        *(spread("look-up", "ms", values, repeats, keys=int(keys)) for keys, values in found["look_ups_ms"].items()),
    ]


def _row(rate: int, found: dict[str, Any]) -> tuple[str, ...]:
    values = [found["quantiles_ms"][SHARES.index(share)] for share in (0.5, 0.99, 0.999, 1.0)]
    return (f"{rate:,}", f"{found['changes']:,}", *(f"{value:,.3f}" for value in values), size(found["peak_bytes"]))
