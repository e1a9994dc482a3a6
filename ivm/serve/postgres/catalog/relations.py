"""Relations of pg_catalog that tell what there is; a function makes each, of what is asked of, when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa

from ivm.catalog.names import MAIN, TEMP, is_temp
from ivm.catalog.schema import Table, View
from ivm.catalog.types import Kind
from ivm.serve.postgres.catalog import numbers
from ivm.serve.postgres.catalog.asked import BOOL, INT, TEXT, Asked, table
from ivm.serve.postgres.catalog.depending import depend, rewrite
from ivm.serve.postgres.catalog.numbers import INFORMATION_SCHEMA, OWNER, PG_CATALOG
from ivm.serve.postgres.catalog.seen import Key, Relation, keys, relations
from ivm.serve.postgres.types import TYPES, shape_of
from ivm.shell.definitions import definition_text


def _namespace(asked: Asked) -> pa.Table:
    names = [(MAIN, numbers.of_schema(MAIN)), ("pg_catalog", PG_CATALOG), ("information_schema", INFORMATION_SCHEMA)]
    names += [(name, numbers.of_schema(name)) for name in asked.catalog.schemas if name != MAIN]
    names += [(TEMP, numbers.of_schema(TEMP)) for name in asked.catalog.schema_names if is_temp(name)]
    return table([(oid, name, OWNER, None) for name, oid in names], "i:oid t:nspname i:nspowner t:nspacl")


def _class(asked: Asked) -> pa.Table:
    indexed = {key.of.oid for key in keys(asked.catalog) if key.index}
    checked = {key.of.oid for key in keys(asked.catalog) if key.kind == "c"}
    refers = {each.oid for key in keys(asked.catalog) if key.to is not None for each in (key.of, key.to)}
    rows = []
    for each in relations(asked.catalog):
        count = float(asked.rows.get(each.entry.name, -1))
        has, checks = each.oid in indexed, int(each.oid in checked)
        told = each.oid in refers
        stays = "t" if each.entry.temporary else "p"
        rows.append(
            (
                each.oid,
                each.name,
                numbers.of_schema(each.schema),
                each.kind,
                len(each.fields),
                count,
                has,
                checks,
                stays,
                told,
            )
        )
    for key in keys(asked.catalog):
        if key.index:
            schema = numbers.of_schema(key.of.schema)
            rows.append((key.index, key.name, schema, "i", len(key.columns), 0.0, False, 0, "p", False))
    told = table([row[:5] for row in rows], "i:oid t:relname i:relnamespace t:relkind i:relnatts")
    told = told.append_column("reltuples", pa.array([row[5] for row in rows], pa.float32()))
    for name, place in (("relhasindex", 6), ("relchecks", 7), ("relpersistence", 8), ("relhastriggers", 9)):
        told = told.append_column(name, pa.array([row[place] for row in rows], {7: INT, 8: TEXT}.get(place, BOOL)))
    methods = [_METHODS.get(row[3], 0) for row in rows]
    return _with(told.append_column("relam", pa.array(methods, INT)), _CLASS_TOO)


_METHODS = {"r": 2, "m": 2, "i": 403}
"""By kinds how rows are kept: in Postgres's terms as a heap, or a btree."""
_CLASS_TOO: dict[str, Any] = {
    "reltype": 0, "reloftype": 0, "relowner": OWNER, "relfilenode": 0, "reltablespace": 0, "relpages": 1,
    "relallvisible": 0, "reltoastrelid": 0, "relisshared": False, "relhasrules": False,
    "relhassubclass": False, "relrowsecurity": False, "relforcerowsecurity": False, "relispopulated": True,
    "relreplident": "d", "relispartition": False, "relrewrite": 0, "relhasoids": False, "relacl": None,
    "reloptions": None, "relpartbound": None, "relfrozenxid": 0, "relminmxid": 0,
}  # fmt: skip


def _with(table: pa.Table, more: Mapping[str, Any]) -> pa.Table:
    """The table, and columns that are the same in all rows."""
    for name, value in more.items():
        kind = BOOL if isinstance(value, bool) else INT if isinstance(value, int) else TEXT
        kind = pa.list_(TEXT) if name.endswith(("acl", "options")) else kind
        table = table.append_column(name, pa.array([value] * table.num_rows, kind))
    return table


def _attribute(asked: Asked) -> pa.Table:
    rows: list[tuple[Any, ...]] = []
    for each in relations(asked.catalog):
        entry = each.entry
        defaults = {default.column for default in entry.defaults} if isinstance(entry, Table) else set()
        generated = {one.column for one in entry.generated} if isinstance(entry, Table) else set()
        for place, field in enumerate(each.fields, 1):
            shape = shape_of(str(field.type))
            is_key = isinstance(entry, Table) and field.name in entry.primary_key
            rows.append((
                each.oid, field.name, shape.oid, shape.size, place, int(shape.is_array), shape.modifier,
                is_key or not field.nullable, field.name in defaults or field.name in generated,
                "s" if field.name in generated else "",
            ))  # fmt: skip
    for key in keys(asked.catalog):
        for place, column in enumerate(key.columns if key.index else (), 1):
            field = key.of.fields[column - 1]
            shape = shape_of(str(field.type))
            rows.append((key.index, field.name, shape.oid, shape.size, place, 0, shape.modifier, False, False, ""))
    told = table(
        rows,
        "i:attrelid t:attname i:atttypid i:attlen i:attnum i:attndims i:atttypmod b:attnotnull b:atthasdef "
        "t:attgenerated",
    )
    return _with(told, {
        "attstattarget": -1, "attcacheoff": -1, "attbyval": False, "attalign": "i", "attstorage": "p",
        "attidentity": "", "attcompression": "", "atthasmissing": False, "attisdropped": False, "attislocal": True,
        "attinhcount": 0, "attcollation": 0, "attacl": None, "attoptions": None, "attfdwoptions": None,
        "attmissingval": None,
    })  # fmt: skip


def _attrdef(asked: Asked) -> pa.Table:
    rows = []
    for each in relations(asked.catalog):
        if isinstance(each.entry, Table):
            said = {one.column: one.value for one in each.entry.defaults}
            said |= {one.column: one.value for one in each.entry.generated}
            for place, field in enumerate(each.fields, 1):
                if field.name in said:
                    rows.append(
                        (
                            numbers.number("default", each.schema, each.name, field.name),
                            each.oid,
                            place,
                            said[field.name],
                        )
                    )
    return table(rows, "i:oid i:adrelid i:adnum t:adbin")


def _type(asked: Asked) -> pa.Table:
    rows: list[tuple[Any, ...]] = []
    for each in TYPES:
        rows.append((each.oid, each.name, each.size, each.category, 0, each.array))
        if each.array:
            rows.append((each.array, f"_{each.name}", -1, "A", each.oid, 0))
    told = table(rows, "i:oid t:typname i:typlen t:typcategory i:typelem i:typarray")
    return _with(told, {
        "typnamespace": PG_CATALOG, "typowner": OWNER, "typbyval": False, "typtype": "b", "typispreferred": False,
        "typisdefined": True, "typdelim": ",", "typrelid": 0, "typsubscript": "-", "typinput": "-", "typoutput": "-",
        "typreceive": "-", "typsend": "-", "typmodin": "-", "typmodout": "-", "typanalyze": "-", "typalign": "i",
        "typstorage": "p", "typnotnull": False, "typbasetype": 0, "typtypmod": -1, "typndims": 0, "typcollation": 0,
        "typdefault": None, "typdefaultbin": None, "typacl": None,
    })  # fmt: skip


def _index(asked: Asked) -> pa.Table:
    found = [key for key in keys(asked.catalog) if key.index]
    rows = [
        (key.index, key.of.oid, len(key.columns), len(key.columns), key.kind != "i", key.kind == "p", list(key.columns),
         [0] * len(key.columns), [0] * len(key.columns), [0] * len(key.columns))
        for key in found
    ]  # fmt: skip
    told = table(
        rows, "i:indexrelid i:indrelid i:indnatts i:indnkeyatts b:indisunique b:indisprimary l:indkey l:indcollation "
        "l:indclass l:indoption",
    )  # fmt: skip
    return _with(told, {
        "indisexclusion": False, "indimmediate": True, "indisclustered": False, "indisvalid": True,
        "indcheckxmin": False, "indisready": True, "indislive": True, "indisreplident": False, "indexprs": None,
        "indpred": None, "indnullsnotdistinct": False,
    })  # fmt: skip


def index_text(key: Key) -> str:
    """The statement that would make an index."""
    names = ", ".join(key.of.fields[place - 1].name for place in key.columns)
    unique = "" if key.kind == "i" else "UNIQUE "
    return f"CREATE {unique}INDEX {key.name} ON {key.of.schema}.{key.of.name} USING btree ({names})"


def _constraint(asked: Asked) -> pa.Table:
    indexes = {(key.of.oid, key.columns): key.index for key in keys(asked.catalog) if key.index}
    rows = [
        (key.oid, key.name, numbers.of_schema(key.of.schema), key.kind, key.of.oid,
         key.index if key.to is None else indexes.get((key.to.oid, key.to_columns), 0),
         0 if key.to is None else key.to.oid, list(key.columns), list(key.to_columns) if key.to is not None else None)
        for key in keys(asked.catalog) if key.kind != "i"
    ]  # fmt: skip
    told = table(rows, "i:oid t:conname i:connamespace t:contype i:conrelid i:conindid i:confrelid l:conkey l:confkey")
    return _with(told, {
        "condeferrable": False, "condeferred": False, "convalidated": True, "contypid": 0, "conparentid": 0,
        "confupdtype": "a", "confdeltype": "a", "confmatchtype": "s", "conislocal": True, "coninhcount": 0,
        "connoinherit": True, "conbin": None, "conexclop": None,
    })  # fmt: skip


def description(asked: Asked) -> pa.Table:
    """What was said of tables, views (0) and their columns, by the numbers of both."""
    numbered = {each.entry.name: each for each in relations(asked.catalog)}
    rows = []
    for entry, column, text in asked.catalog.comments:
        of = numbered[entry.name]
        names = [field.name.lower() for field in of.fields]
        rows.append((of.oid, numbers.CLASS, names.index(column.lower()) + 1 if column else 0, text))
    return table(rows, "i:objoid i:classoid i:objsubid t:description")


def _database(asked: Asked) -> pa.Table:
    told = table([(numbers.number("database", asked.catalog.database), asked.catalog.database)], "i:oid t:datname")
    return _with(told, {
        "datdba": OWNER, "encoding": 6, "datlocprovider": "c", "datistemplate": False, "datallowconn": True,
        "datconnlimit": -1, "dattablespace": 0, "datcollate": "C", "datctype": "C", "datacl": None,
        "daticulocale": None, "daticurules": None, "datcollversion": None,
    })  # fmt: skip


def _roles(asked: Asked) -> pa.Table:
    told = table([(OWNER, asked.user, asked.user)], "i:oid t:rolname t:usename")
    return _with(told, {
        "rolsuper": True, "rolinherit": True, "rolcreaterole": False, "rolcreatedb": False, "rolcanlogin": True,
        "rolreplication": False, "rolconnlimit": -1, "rolpassword": "********", "rolvaliduntil": None,
        "rolbypassrls": True, "rolconfig": None, "usesysid": OWNER, "usesuper": True, "usecreatedb": False,
    })  # fmt: skip


def _settings(asked: Asked) -> pa.Table:
    told = table(asked.settings.items(), "t:name t:setting")
    return _with(told, {
        "unit": None, "category": "", "short_desc": "", "context": "user", "vartype": "string", "source": "default",
        "pending_restart": False,
    })  # fmt: skip


def _listed(kinds: str, columns: str, row: Callable[[Asked, Relation], tuple[Any, ...]]) -> Callable[[Asked], pa.Table]:
    """A relation that lists relations of these kinds, each as a row."""
    return lambda asked: table([row(asked, each) for each in relations(asked.catalog) if each.kind in kinds], columns)


def view_text(asked: Asked, each: Relation) -> str:
    """The SELECT of a view."""
    assert isinstance(each.entry, View), "others have none"
    return definition_text(each.entry, asked.catalog).partition(" AS\n")[2]


def _enum(asked: Asked) -> pa.Table:
    rows = [
        (_number := numbers.number("enum", name, label), numbers.number("type", name), float(place), label)
        for name, type_ in asked.catalog.named_types() if type_.kind is Kind.ENUM
        for place, label in enumerate(type_.labels)
    ]  # fmt: skip
    return table(
        [(oid, of, int(place), label) for oid, of, place, label in rows],
        "i:oid i:enumtypid i:enumsortorder t:enumlabel",
    )


def _constant(columns: str, *rows: tuple[Any, ...]) -> Callable[[Asked], pa.Table]:
    return lambda asked: table(rows, columns)


RELATIONS: Mapping[str, Callable[[Asked], pa.Table]] = {
    "pg_namespace": _namespace, "pg_class": _class, "pg_attribute": _attribute, "pg_attrdef": _attrdef,
    "pg_type": _type, "pg_index": _index, "pg_constraint": _constraint, "pg_description": description,
    "pg_database": _database, "pg_roles": _roles, "pg_user": _roles, "pg_authid": _roles, "pg_settings": _settings,
    "pg_enum": _enum, "pg_depend": depend, "pg_rewrite": rewrite,
    "pg_am": _constant("i:oid t:amname t:amtype", (2, "heap", "t"), (403, "btree", "i")),
    "pg_collation": _constant(
        "i:oid t:collname i:collnamespace t:collprovider i:collencoding t:collcollate t:collctype t:colliculocale "
        "t:collicurules b:collisdeterministic", (100, "default", PG_CATALOG, "d", -1, None, None, None, None, True)),
    "pg_stat_activity": _constant("i:pid t:usename t:state t:query"),
    "pg_tables": _listed("r", "t:schemaname t:tablename t:tableowner t:tablespace b:hasindexes",
                         lambda asked, each: (each.schema, each.name, asked.user, None, True)),
    "pg_views": _listed("v", "t:schemaname t:viewname t:viewowner t:definition",
                        lambda asked, each: (each.schema, each.name, asked.user, view_text(asked, each))),
    "pg_matviews": _listed("m", "t:schemaname t:matviewname t:matviewowner t:tablespace b:hasindexes b:ispopulated "
                           "t:definition", lambda asked, each: (each.schema, each.name, asked.user, None, False, True,
                                                                view_text(asked, each))),
    "pg_stat_user_tables": _listed("r", "i:relid t:schemaname t:relname i:n_live_tup", lambda asked, each: (
        each.oid, each.schema, each.name, asked.rows.get(each.entry.name, 0))),
    "pg_indexes": lambda asked: table(
        [(key.of.schema, key.of.name, key.name, None, index_text(key)) for key in keys(asked.catalog) if key.index],
        "t:schemaname t:tablename t:indexname t:tablespace t:indexdef"),
}  # fmt: skip
"""By their names."""
