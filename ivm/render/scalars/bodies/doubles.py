"""The functions of DOUBLE that have no error: one expression each."""

from __future__ import annotations

from ivm.render.scalars.bodies.body import Body
from ivm.render.scalars.writer import Script, Value
from sql.ir.scalar import Call

_EXPRESSIONS = {
    **{f: f"np.{f}({{}})" for f in ("sqrt", "exp", "log2", "log10", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "ln": "np.log({})", "asin": "np.arcsin({})", "acos": "np.arccos({})", "atan": "np.arctan({})",
    "asinh": "np.arcsinh({})", "acosh": "np.arccosh({})", "atanh": "np.arctanh({})", "cbrt": "np.cbrt({})",
    "cot": "1.0 / np.tan({})", "degrees": "np.degrees({})", "radians": "np.radians({})", "even": "even({})",
    "is_nan": "np.isnan({})", "is_inf": "np.isinf({})", "is_finite": "np.isfinite({})",
    "power": "np.power({}, {})", "atan2": "np.arctan2({}, {})", "log": "np.log10({1}) / np.log10({0})",
}  # fmt: skip


def _of_doubles(writer: Script, call: Call, args: list[Value]) -> Value:
    words = (a.word for a in args)
    return Value((writer.let(_EXPRESSIONS[call.function].format(*words)),), writer.both(*args))


BODIES = tuple(Body(name, _of_doubles) for name in _EXPRESSIONS)
