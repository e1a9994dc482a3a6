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
    for node in module.nodes:
        if isinstance(node, ast.Call) and is_compiler(node.func):
            named.add(id(node.func))
            options = {k.arg for k in node.keywords if isinstance(k.value, ast.Constant)}
            if not options >= NAMED:
                found.append(f"{module.path}:{node.lineno}: name {', '.join(sorted(NAMED - options))}")
        elif isinstance(node, ast.FunctionDef):
            found += [f"{module.path}:{d.lineno}: bare compiler" for d in node.decorator_list if is_compiler(d)]
    return found + careless_generation(module)


def careless_generation(module: Module) -> list[str]:
    """Compilers in generated code, which may be put together from pieces, that the same function's text leaves bare."""
    found = []
    for scope in module.nodes:
        if isinstance(scope, ast.FunctionDef | ast.Module):
            strings = [n.value for n in own_nodes(scope) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
            text = "\n".join(strings)
            uses = len(re.findall(r"@(?:numba\.)?n?jit\b", text))
            bare = [option for option in sorted(NAMED) if text.count(f"{option}=") < uses]
            if bare:
                found.append(f"{module.path}: generated code: name {', '.join(bare)}")
    return found


def own_nodes(scope: ast.FunctionDef | ast.Module) -> list[ast.AST]:
    """The nodes of a scope without those of the functions in it."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = list(ast.iter_child_nodes(scope))
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.FunctionDef):
            found.append(node)
            waiting += ast.iter_child_nodes(node)
    return found


def test_every_compiled_function_names_its_options():
    found = [careless for module in modules() for careless in careless_compilation(module)]
    assert not found, "\n".join(found)


def test_kernels_are_compiled_with_the_cache_that_checks_what_it_runs():
    numba_own = re.compile(r"from numba import .*\bn?jit\b|@numba\.n?jit\b")
    found = [str(module.path) for module in modules("ivm") if numba_own.search(module.path.read_text(encoding="utf-8"))]
    assert not found, f"take njit from ivm.kernels.compiling.compiled: {found}"


def test_there_are_kernels():
    compiled = [n for m in modules("ivm") for n in m.nodes if isinstance(n, ast.Call) and is_compiler(n.func)]
    assert len(compiled) >= 10
