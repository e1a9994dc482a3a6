"""`ivm tpch generate | run | verify | bench`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer

from ivm.tpch.errors import SetupError
from ivm.tpch.options import DEFAULT_PAIRS, DEFAULT_SEED, SMALLEST_SCALE, STREAMS, Options, Place

BENCHMARKS = "ivm.benchmarks"
"""The entry points of benchmarks, typer applications, which lie above this package."""

app = typer.Typer(
    help="TPC-H: change streams made on Spark, standing queries over them, each proved equal to DuckDB.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
_Sf = Annotated[float, typer.Option("--sf", min=SMALLEST_SCALE, help="Scale factor; 1 is 8.7 million rows.")]
_Seed = Annotated[int, typer.Option(help="Decides the changes, together with the scale factor.")]
_Stream = Annotated[str, typer.Option("--stream", help=f"One of {', '.join(STREAMS)}.")]
_Batch = Annotated[int, typer.Option("--batch", min=1, help="Steps of the stream in a commit (on refresh: orders).")]
_Views = Annotated[str, typer.Option("--views", help="'all' that are delivered, or names such as q1,q3.")]
_Data = Annotated[
    Path | None, typer.Option("--data", help="Where streams are; made there if missing. Default: ./data/sf<SF>.")
]
_Every = Annotated[
    int, typer.Option("--every", min=0, help="Compare with DuckDB after every n-th commit; 0: only at the end.")
]
_Coalesce = Annotated[bool, typer.Option("--coalesce", help="Make each commit one step.")]
_Db = Annotated[
    Path | None,
    typer.Option("--db", metavar="PATH", help="A database to keep it in; another run goes on where this one ended."),
]
_Spark = Annotated[
    str | None,
    typer.Option(
        "--spark", metavar="MASTER", help="Over shards on this Spark cluster, such as local-cluster[2,1,2048]."
    ),
]
_Shards = Annotated[
    int | None,
    typer.Option("--shards", min=1, help="Over so many shards; of this process, unless --spark says where."),
]
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
    from ivm.tpch.commands import generated  # noqa: PLC0415  the engine and Arrow, which help does not need

    generated(sf, wanted, out, seed, Options(parts, pairs, updates, window))


def _running(at_scale: float, times: int, after_every: int, *, suggests: bool) -> Callable[..., None]:
    """What `run` and `verify` do, which differ in their defaults, and in whether they say what to try next."""

    def command(
        sf: _Sf = at_scale,
        stream: _Stream = "refresh",
        batch: _Batch = times,
        views: _Views = "all",
        data: _Data = None,
        every: _Every = after_every,
        coalesce: _Coalesce = False,
        seed: Annotated[int | None, typer.Option(help="The stream's seed.")] = None,
        path: _Db = None,
        master: _Spark = None,
        shards: _Shards = None,
        json_file: _Json = None,
    ) -> None:
        (known,) = _known([stream])
        from ivm.tpch.cache import views_of  # noqa: PLC0415  the engine, which help does not need
        from ivm.tpch.commands import maintained  # noqa: PLC0415
        from ivm.tpch.runner import Settings  # noqa: PLC0415

        place = Place(path, master, shards)
        settings = Settings(views_of(views), batch, every, coalesce)
        maintained(sf, known, seed, data, json_file, place, settings, suggests=suggests)

    return command


app.command("run", help="Maintain TPC-H views over a stream and verify them; generates the stream if it is not there.")(
    _running(0.1, 10_000, 0, suggests=True)
)
app.command(
    "verify",
    help="Like run, but compare every view with DuckDB after every batch; ends with an error at the first difference.",
)(_running(0.01, 1_000, 1, suggests=False))


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
        typer.echo(f"{context.command_path} NAME --help says what it measures")
        return
    if name not in known:
        raise typer.BadParameter(f"{name} is not a benchmark; there are: {', '.join(sorted(known)) or 'none'}")
    try:
        loaded = known[name].load()
    except ImportError as error:
        raise SetupError(f"cannot load the benchmark {name}: {error}; benchmarks come with a checkout") from error
    code = loaded(args=context.args, prog_name=f"{context.command_path} {name}", standalone_mode=False)
    raise typer.Exit(code if isinstance(code, int) else 0)


def _known(streams: Sequence[str]) -> Sequence[str]:
    unknown = [name for name in streams if name not in STREAMS]
    if unknown or not streams:
        raise typer.BadParameter(
            f"{', '.join(unknown) or 'nothing'} is not a stream; they are {', '.join(STREAMS)}", param_hint="--stream"
        )
    return streams
