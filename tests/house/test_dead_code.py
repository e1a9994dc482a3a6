"""What only tests call is dead: it is kept in shape for nobody."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache

from tests.house.modules import AT_LEAST, ROOT, Module, is_within, modules, targets

WORD = re.compile(r"[A-Za-z_]\w*")
IN_TEXT = re.compile(r"[A-Za-z_]\w*(?=\(|$)|(?<=:)[A-Za-z_]\w*")

# What users call, by module and class: no code of ours has to.
FACE = {
    "ivm.cluster.driver.database.ShardedDatabase",
    "ivm.session.cursor.Cursor",
    "ivm.session.database.Database",
    "ivm.session.delivering.Delivery",
    "ivm.session.with_deliveries.WithDeliveries",
    "ivm.results.result.Rows",
    "ivm.spark.database.SparkDatabase",
    "ivm.spark.database.SparkView",
    "ivm.subscriptions.live.Live",
    "ivm.subscriptions.subscription.Subscription",
    "ivm.engine.transaction.Transaction",
    "ivm.engine.reader.View",
}

# Each with the reason; of a module or a class, all of it.
ALLOWED = {
    "ivm.kernels.compiling.compiled._Cache.cache_path": "numba asks for it",
    "ivm.kernels.compiling.compiled._Cache.save_overload": "numba asks for it",
    "ivm.kernels.compiling.part._PartLibrary.finalize": "numba asks for it",
    "ivm.kernels.compiling.part._PartLibrary.get_pointer_to_function": "numba asks for it",
    "ivm.kernels.compiling.building.write_signatures": "`make kernels` runs the tests to list what is called",
    "ivm.render.scalars.compiler.Compiler.failures": "a loop that does not compile is a defect that nothing else shows",
    "ivm.durable.journal.Journal.begin_file": "what makes checkpoints calls it",
    "ivm.trace.rows.rows.Rows.segments": "what writes states to disk calls it",
    "ivm.trace.rows.rows.Rows.restore": "what reads states from disk calls it",
    "ivm.trace.ordered.ordered_tree.OrderedRows.segments": "what writes states to disk calls it",
    "ivm.trace.view_log.ViewLog.segments": "what writes states to disk calls it",
    "ivm.trace.ordered.window_tree.WindowTree.segments": "what writes states to disk calls it",
    "ivm.trace.keyed.groups.Groups.segments": "what writes states to disk calls it",
    "ivm.trace.columns.segment": "what writes states to disk, and reads them, calls it",
    "ivm.sqlalchemy.reflecting.Reflecting": "SQLAlchemy asks for it",
    "ivm.render.scalars.elsewhere.Elsewhere.pid": "whether a process ends cannot be seen otherwise",
}

CONTRACT = {"segments", "restore"}
"""Methods of states for what writes them to disk, and reads them."""

PLAIN = {"property", "cached_property", "staticmethod", "classmethod", "cache", "fact", "scalar_fact", "dataclass"}
PLAIN |= {
    "njit",
    "part",
    "operation",
    "_checked",
    "compared_once",
    "contextmanager",
    "overload",
    "abstractmethod",
    "override",
    "wraps",
    "bottom_up",
    "at_each",
}
"""Decorators that call nobody; any other may have noted what it decorates."""

SOME = 10
"""What is read so often is not looked at closer: nothing calls only itself so often."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Words:
    """How often a piece of code reads each name, each attribute, and what its texts call or are, which may be code."""

    names: Counter[str] = field(default_factory=Counter)
    attributes: Counter[str] = field(default_factory=Counter)
    texts: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Defined:
    """A function, a method, a class or a constant."""

    module: str
    owner: str
    word: str
    at: str
    node: ast.stmt

    @property
    def name(self) -> str:
        """The whole of it."""
        return ".".join(filter(None, (self.module, self.owner, self.word)))


def words(tree: ast.AST) -> Words:
    """The words of a piece of code but its prose."""
    found = Words()
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=word, ctx=ast.Load()):
                found.names[word] += 1
            case ast.Attribute(attr=word, ctx=ast.Load()):
                found.attributes[word] += 1
            case ast.MatchClass(kwd_attrs=attributes):
                found.attributes.update(attributes)
            case ast.Constant(value=str(text)) if id(node) not in prose:
                found.texts.update((WORD if "import " in text else IN_TEXT).findall(text))
    return found


def definitions(module: Module, body: list[ast.stmt], owner: str = "") -> Iterator[Defined]:
    """What a module or a class defines by itself: nothing that a base class of others may call, or a decorator noted."""
    for node in body:
        at = f"{module.path}:{node.lineno}"
        if isinstance(node, Definition):
            if (
                node.name.startswith("__")
                or (owner and node.name in CONTRACT)
                or any(last_word(d) not in PLAIN for d in node.decorator_list)
            ):
                continue
            yield Defined(module.name, owner, node.name, at, node)
            is_face = f"{module.name}.{node.name}" in FACE
            if isinstance(node, ast.ClassDef) and not is_face and {last_word(b) for b in node.bases} <= classes():
                yield from definitions(module, node.body, f"{owner}.{node.name}".removeprefix("."))
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not owner:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name) and not target.id.startswith("__"):
                    yield Defined(module.name, "", target.id, at, node)


def own_uses(each: Defined) -> int:
    """How often a definition's own body reads its name, which is no use of it."""
    own = words(each.node)
    return (own.attributes if each.owner else own.names)[each.word]


def last_word(named: ast.expr) -> str:
    """Of the name of a decorator or a base class."""
    while isinstance(named, ast.Call | ast.Subscript):
        named = named.func if isinstance(named, ast.Call) else named.value
    return ast.unparse(named).rpartition(".")[2]


@cache
def classes() -> frozenset[str]:
    """The names of the project's classes: what derives from others is called by those."""
    ours = {node.name for module in modules() for node in module.nodes if isinstance(node, ast.ClassDef)}
    return frozenset(ours | {"Protocol", "ABC", "Generic"})


def test_what_only_tests_call_is_not_there():
    everything = (*modules(), *modules("setup"))
    read = {module.name: words(module.tree) for module in everything}
    texts = Counter(IN_TEXT.findall((ROOT / "pyproject.toml").read_text().replace('"', "\n")))
    attributes: Counter[str] = Counter()
    importers: dict[str, list[str]] = {}
    for module in everything:
        texts.update(read[module.name].texts)
        attributes.update(read[module.name].attributes)
        for _, target in targets(module):
            importers.setdefault(target, []).append(module.name)
    imported = {(source, name) for module in everything for _, source, name in module.imports()}
    packages = modules("catalog", "sql", "ivm", "tpch")
    defined = [each for module in packages for each in definitions(module, module.tree.body)]
    dead = {}
    for each in defined:
        if each.owner:
            uses = attributes[each.word]
        else:
            uses = read[each.module].names[each.word] + ((each.module, each.word) in imported)
            uses += sum(read[importer].attributes[each.word] for importer in importers.get(each.module, ()))
        if not texts[each.word] and (not uses or (uses < SOME and uses <= own_uses(each))):
            dead[each.name] = each.at
    found = [f"{at}: {name}" for name, at in dead.items() if not any(is_within(name, each) for each in ALLOWED)]
    assert not found, "\n".join(found)
    assert len(defined) > 10 * AT_LEAST
