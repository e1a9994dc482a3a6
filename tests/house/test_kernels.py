"""Every compiled function says how it is compiled, and kernels are compiled nowhere but in ivm/kernels."""

from __future__ import annotations

import ast
import re

from tests.house.modules import Module, modules

COMPILERS = frozenset({"njit", "jit", "vectorize", "guvectorize", "cfunc"})
NAMED = frozenset({"cache", "nogil", "fastmath"})


def is_compiler(node: ast.expr) -> bool:
    """True for `njit`, `numba.njit` and their like."""
    return (isinstance(node, ast.Name) and node.id in COMPILERS) or (
        isinstance(node, ast.Attribute) and node.attr in COMPILERS
    )


def careless_compilation(module: Module) -> list[str]:
    """Uses of a compiler that leave one of the options in `NAMED` to its default, in code and in generated code."""
    named: set[int] = set()
    found = []
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and is_compiler(node.func):
            named.add(id(node.func))
            options = {k.arg for k in node.keywords if isinstance(k.value, ast.Constant)}
            if not options >= NAMED:
                found.append(f"{module.path}:{node.lineno}: name {', '.join(sorted(NAMED - options))}")
        elif isinstance(node, ast.FunctionDef):
            found += [f"{module.path}:{d.lineno}: bare compiler" for d in node.decorator_list if is_compiler(d)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            for written in re.findall(r"@(?:numba\.)?n?jit\b[^\n]*", node.value):
                if not all(f"{option}=" in written for option in NAMED):
                    found.append(f"{module.path}:{node.lineno}: generated code with {written}")
    return found


def test_every_compiled_function_names_its_options():
    found = [careless for module in modules() for careless in careless_compilation(module)]
    assert not found, "\n".join(found)


def test_there_are_kernels():
    compiled = [n for m in modules("ivm") for n in ast.walk(m.tree) if isinstance(n, ast.Call) and is_compiler(n.func)]
    assert len(compiled) >= 10
