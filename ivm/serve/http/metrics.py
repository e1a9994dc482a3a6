"""GET /metrics: what there is and what happens, in the text form of OpenMetrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from starlette.requests import Request
from starlette.responses import Response

from ivm.serve.http.desk import Desk
from ivm.serve.inside import Inside, Session
from ivm.session.database import core_of

_MEDIA = "application/openmetrics-text; version=1.0.0; charset=utf-8"
_QUANTILES = (0.5, 0.9, 0.99)
_STATE = "SELECT kind, sum(rows), sum(bytes) FROM ivm_arrangements GROUP BY kind ORDER BY kind"
Sample = tuple[str, Mapping[str, str], float]
"""What is added to the name of a family, labels, and a value."""


async def metrics(desk: Desk, request: Request) -> Response:
    """Commits, latencies, rows, bytes of state, who listens, and requests."""
    session = await desk.session(request)
    text = await desk.run(request, session, lambda: _text(desk.inside, session))
    return Response(text, media_type=_MEDIA)


def _text(inside: Inside, session: Session) -> str:
    engine = core_of(inside.db).engine
    recent = sorted(millis / 1e3 for _, _, millis, _ in tuple(engine.past.commits)) or [0.0]
    state = session.sql(_STATE).fetchall()
    sees = core_of(session.db).settings.names.sees
    listening = Counter(each.view for each in engine.listeners.of() if sees(each.view))
    counted = inside.meter.read()
    families: list[tuple[str, str, str, Iterable[Sample]]] = [
        ("ivm_time", "gauge", "The logical time of the last commit.", [("", {}, inside.db.time)]),
        ("ivm_commit_seconds", "summary", "How long the latest commits took.",
         [("", {"quantile": str(q)}, recent[int(q * (len(recent) - 1))]) for q in _QUANTILES]),
        ("ivm_table_rows", "gauge", "Rows of a table.",
         [("", {"table": each.name}, each.rows) for each in session.db.tables()]),
        ("ivm_state_rows", "gauge", "Rows that are held, by the kind of state.",
         [("", {"kind": kind}, float(rows)) for kind, rows, _ in state]),
        ("ivm_state_bytes", "gauge", "Memory, by the kind of state.",
         [("", {"kind": kind}, float(size)) for kind, _, size in state]),
        ("ivm_subscribers", "gauge", "Who listens to a view.",
         [("", {"view": view}, count) for view, count in sorted(listening.items())]),
    ]  # fmt: skip
    for name, kind, help_ in _COUNTED:
        end = "_total" if kind == "counter" else ""
        samples = [(end, dict(labels), value) for (each, labels), value in sorted(counted.items()) if each == name]
        families.append((f"ivm_server_{name}", kind, help_, samples))
    return "".join(_family(*family) for family in families) + "# EOF\n"


_COUNTED = (
    ("requests", "counter", "Requests that were answered, by door, method and status."),
    ("request_seconds", "counter", "How long these took, together."),
    ("streams", "gauge", "Streams of changes that are open."),
)


def _family(name: str, kind: str, help_: str, samples: Iterable[Sample]) -> str:
    lines = [f"# TYPE {name} {kind}", f"# HELP {name} {help_}"]
    for end, labels, value in samples:
        said = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
        lines.append(f"{name}{end}{{{said}}} {value:.9g}" if said else f"{name}{end} {value:.9g}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


__all__: Sequence[str] = ["metrics"]
