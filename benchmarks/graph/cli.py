"""`ivm graph generate | run | verify | bench`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from ivm.benchmarks.graph.programs import FITTING, PROGRAMS
from ivm.benchmarks.graph.shapes import DRAWN, KINDS, Shape
from ivm.benchmarks.graph.workloads import WORKLOADS

_PLACE = Path("data/graph")

app = typer.Typer(
    help="Loops over graphs that change: recursive views, each proved equal to DuckDB.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

_Graph = Annotated[str, typer.Option("--graph", help=f"One of {', '.join(KINDS)}; code is a program for analyses.")]
_Nodes = Annotated[int, typer.Option("--nodes", min=2, help="Nodes, about; of code: variables.")]
_Degree = Annotated[float, typer.Option("--degree", min=0.1, help="Edges by nodes of uniform and skewed graphs.")]
_Steps = Annotated[int, typer.Option("--steps", min=0, help="Changed rows of each table that changes.")]
_Seed = Annotated[int, typer.Option("--seed", min=0, help="Decides the graph and its changes.")]
_Place = Annotated[Path, typer.Option("--data", help="Where graphs are; made there if missing.")]
_Json = Annotated[Path | None, typer.Option("--json", help="Write the figures as JSON to this file.")]


@app.command("generate")
def generate_command(
    graph: _Graph = "uniform",
    nodes: _Nodes = 10_000,
    degree: _Degree = 5.0,
    steps: _Steps = 1_000,
    seed: _Seed = 1,
    data: _Place = _PLACE,
) -> None:
    """Make a graph and its changes, unless they are there."""
    from ivm.benchmarks.graph.commands import generated  # noqa: PLC0415  Arrow, which help does not need

    generated(_shape(graph, nodes, degree, seed), steps, data)


def _running(usual: int, after_every: int) -> Callable[..., None]:
    """What `run` and `verify` do, which differ in their defaults."""

    def command(
        graph: _Graph = "uniform",
        nodes: _Nodes = usual,
        degree: _Degree = 5.0,
        steps: _Steps = 1_000,
        seed: _Seed = 1,
        programs: Annotated[str, typer.Option("--programs", help="Such as reach,paths; or all that fit.")] = "all",
        batch: Annotated[int, typer.Option(min=1, help="Changed rows in a commit.")] = 1,
        every: Annotated[
            int, typer.Option(min=0, help="Compare after every n-th commit; 0: at the end.")
        ] = after_every,
        data: _Place = _PLACE,
        json_file: _Json = None,
    ) -> None:
        shape = _shape(graph, nodes, degree, seed)
        chosen = FITTING[graph] if programs == "all" else _known(programs.split(","), PROGRAMS, "--programs")
        from ivm.benchmarks.graph.commands import maintained  # noqa: PLC0415  the engine, which help does not need

        maintained(shape, steps, data, chosen, batch, every, json_file)

    return command


app.command("run", help="Maintain programs over a graph that changes, each alone, and compare them at the end.")(
    _running(10_000, 0)
)
app.command(
    "verify", help="Like run, but compare after every tenth commit; ends with an error at the first difference."
)(_running(200, 10))


@app.command("bench")
def bench_command(
    workloads: Annotated[str, typer.Option("--workloads", help=f"'all', or of {', '.join(WORKLOADS)}.")] = "all",
    scale: Annotated[
        float, typer.Option("--scale", min=0.0001, help="Times the nodes that figures are asked for.")
    ] = 1.0,
    steps: Annotated[int, typer.Option(min=10, help="Changed rows of each table that changes.")] = 2_000,
    data: _Place = _PLACE,
    compared: Annotated[bool, typer.Option("--compare/--no-compare", help="Compare with DuckDB at the end.")] = True,
    json_file: Annotated[Path, typer.Option("--json", help="Where to write.")] = Path("results/graph.json"),
) -> None:
    """Measure workloads beside the figures asked of them and the papers'."""
    names = list(WORKLOADS) if workloads == "all" else _known(workloads.split(","), WORKLOADS, "--workloads")
    from ivm.benchmarks.graph.bench import bench  # noqa: PLC0415  the engine, which help does not need

    bench([WORKLOADS[name] for name in names], scale, steps, data, json_file, compared=compared)


def _shape(graph: str, nodes: int, degree: float, seed: int) -> Shape:
    _known([graph], KINDS, "--graph")
    return Shape(graph, nodes, degree if graph in DRAWN else 0.0, seed)


def _known(names: Iterable[str], there: Iterable[str], option: str) -> Sequence[str]:
    """The names, if all are among those that there are; else a usage error."""
    chosen, known = list(names), list(there)
    for name in chosen:
        if name not in known:
            raise typer.BadParameter(
                f"there is no {name or 'such name'}; there are {', '.join(known)}", param_hint=option
            )
    return chosen
