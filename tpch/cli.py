"""`ivm tpch generate | run | verify | bench`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ivm.progress import progress
from tpch.cache import ensure, make, open_cached, place, views_of
from tpch.errors import SetupError
from tpch.generate import DEFAULT_SEED, STREAMS, Options
from tpch.reader import Stream
from tpch.report import save, show, size
from tpch.runner import Settings, run
from tpch.source import SMALLEST_SCALE
from tpch.streams.refresh import DEFAULT_PAIRS

BENCHMARKS = "ivm.benchmarks"
"""The entry points of benchmarks, typer applications, which lie above this package."""

app = typer.Typer(
    help="TPC-H: change streams made on Spark, standing queries over them, each proved equal to DuckDB.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_err = Console(stderr=True)

_Sf = Annotated[float, typer.Option("--sf", min=SMALLEST_SCALE, help="Scale factor; 1 is 8.7 million rows.")]
_Seed = Annotated[int, typer.Option(help="Decides the changes, together with the scale factor.")]
_Stream = Annotated[str, typer.Option("--stream", help=f"One of {', '.join(STREAMS)}.")]
_Batch = Annotated[int, typer.Option("--batch", min=1, help="Logical times per physical batch (on refresh: orders).")]
_Views = Annotated[str, typer.Option("--views", help="'all' that are delivered, or names such as q1,q3.")]
_Data = Annotated[
    Path | None, typer.Option("--data", help="Where streams are; made there if missing. Default: ./data/sf<SF>.")
]
_Every = Annotated[int, typer.Option("--every", min=0, help="Verify after every n-th batch; 0: only at the end.")]
_Coalesce = Annotated[bool, typer.Option("--coalesce", help="Make each batch one logical time.")]
_Json = Annotated[Path | None, typer.Option("--json", help="Write the figures as JSON to this file ('-': print them).")]


@app.command("generate")
def generate_command(
    sf: _Sf = 0.1,
    stream: Annotated[str, typer.Option("--stream", help=f"Some of {','.join(STREAMS)}, or 'all'.")] = "refresh",
    out: Annotated[Path | None, typer.Option("--out", help="Default: ./data/sf<SF>.")] = None,
    seed: _Seed = DEFAULT_SEED,
    parts: Annotated[int | None, typer.Option(min=1, help="Spark tasks per large relation; changes nothing.")] = None,
    pairs: Annotated[int, typer.Option(min=1, help="refresh: pairs of refresh functions.")] = DEFAULT_PAIRS,
    updates: Annotated[int | None, typer.Option(min=1, help="churn: updates. Default: 150,000 * SF.")] = None,
    window: Annotated[int | None, typer.Option(min=1, help="window: rows present. Default: a tenth.")] = None,
) -> None:
    """Generate change streams on Spark."""
    wanted = _known(STREAMS if stream == "all" else [part.strip() for part in stream.split(",") if part.strip()])
    target = out or place(sf)
    make(sf, wanted, target, seed, Options(parts, pairs, updates, window))
    for name in wanted:
        _describe(open_cached(sf, name, seed, target / name))


def _running(at_scale: float, times: int, after_every: int) -> Callable[..., None]:
    """What `run` and `verify` do, which differ in their defaults."""

    def command(
        sf: _Sf = at_scale,
        stream: _Stream = "refresh",
        batch: _Batch = times,
        views: _Views = "all",
        data: _Data = None,
        every: _Every = after_every,
        coalesce: _Coalesce = False,
        seed: Annotated[int | None, typer.Option(help="The stream's seed.")] = None,
        json_file: _Json = None,
    ) -> None:
        settings = Settings(views_of(views), batch, every, coalesce)
        opened = ensure(sf, _known([stream])[0], seed, data)
        with progress(_err) as tell:
            report = run(opened, settings, tell)
        if json_file is not None:
            save(report, json_file)
        if json_file is None or str(json_file) != "-":
            show(report, Console())

    return command


app.command("run", help="Maintain TPC-H views over a stream and verify them; generates the stream if it is not there.")(
    _running(0.1, 10_000, 0)
)
app.command(
    "verify",
    help="Like run, but compare every view with DuckDB after every batch; ends with an error at the first difference.",
)(_running(0.01, 1_000, 1))


@app.command(
    "bench",
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "allow_interspersed_args": False},
)
def bench_command(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Which benchmark; none lists them.")] = None,
) -> None:
    """Run a benchmark; what follows its name is for it (`ivm tpch bench streaming --help`)."""
    known = {point.name: point for point in entry_points(group=BENCHMARKS)}
    if name is None:
        typer.echo("benchmarks: " + (", ".join(sorted(known)) or "none is installed"))
        return
    if name not in known:
        raise typer.BadParameter(f"{name} is not a benchmark; there are: {', '.join(sorted(known)) or 'none'}")
    try:
        loaded = known[name].load()
    except ImportError as error:
        raise SetupError(f"cannot load the benchmark {name}: {error}; benchmarks come with a checkout") from error
    code = loaded(args=context.args, prog_name=f"{context.command_path} {name}", standalone_mode=False)
    raise typer.Exit(code if isinstance(code, int) else 0)


def _describe(stream: Stream) -> None:
    found = stream.manifest
    entries = found.relations.values()
    stored = sum(file.bytes for entry in entries for file in (*entry.base, *entry.changes))
    base = sum(entry.base_rows for entry in entries)
    start = f"{base:,} rows before, then " if base else ""
    _err.print(
        f"{stream.directory}: {start}{found.rows:,} changes at {found.times:,} logical times, {size(stored)}",
        highlight=False,
    )


def _known(streams: Sequence[str]) -> Sequence[str]:
    unknown = [name for name in streams if name not in STREAMS]
    if unknown or not streams:
        raise typer.BadParameter(
            f"{', '.join(unknown) or 'nothing'} is not a stream; they are {', '.join(STREAMS)}", param_hint="--stream"
        )
    return streams
