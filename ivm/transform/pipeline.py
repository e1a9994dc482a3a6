"""The pipeline: which rules run, in which order, until nothing changes."""

from __future__ import annotations

from ivm.sql.ir.rebuild import nodes
from ivm.sql.ir.relation import Relation
from ivm.transform.ask_together import ask_together
from ivm.transform.attain_extremes import attain_extremes
from ivm.transform.call_for_keys import call_for_keys
from ivm.transform.call_functions import call_functions
from ivm.transform.cancel_terms import cancel_terms
from ivm.transform.check import check_relation, check_schema
from ivm.transform.coarsen_reduce import coarsen_reduce
from ivm.transform.derive_disjunctions import derive_disjunctions
from ivm.transform.derive_equivalences import derive_equivalences
from ivm.transform.elide_join import elide_join
from ivm.transform.elide_reduce import elide_reduce
from ivm.transform.elide_semijoin import elide_semijoin
from ivm.transform.elide_top_k import elide_top_k
from ivm.transform.expand_distinct import expand_distinct
from ivm.transform.fold_constants import fold_constants
from ivm.transform.fuse_joins import fuse_joins
from ivm.transform.fuse_maps import fuse_maps
from ivm.transform.fuse_projects import fuse_projects
from ivm.transform.limit_window import limit_window
from ivm.transform.propagate_constants import propagate_constants
from ivm.transform.prune_columns import prune_columns
from ivm.transform.prune_empty import prune_empty
from ivm.transform.pushdown_predicates import pushdown_predicates
from ivm.transform.read_clock import read_clock
from ivm.transform.reduce_group_keys import reduce_group_keys
from ivm.transform.remove_trivial import remove_trivial
from ivm.transform.restrict_loop import restrict_loop
from ivm.transform.restrict_reduce import restrict_reduce
from ivm.transform.rewrite import Rule, names, projected, renamed
from ivm.transform.share_subexpressions import share_subexpressions
from ivm.transform.simplify_predicates import simplify_predicates
from ivm.transform.split_joins import split_joins
from ivm.transform.unwrap_casts import unwrap_casts

NORMALIZE: tuple[Rule, ...] = (
    expand_distinct,
    call_for_keys,
    fold_constants,
    unwrap_casts,
    simplify_predicates,
    remove_trivial,
    cancel_terms,
    prune_empty,
    fuse_projects,
    fuse_maps,
    fuse_joins,
    derive_equivalences,
    pushdown_predicates,
    limit_window,
    derive_disjunctions,
    propagate_constants,
    elide_reduce,
    elide_top_k,
    reduce_group_keys,
)
"""Brings a query block into the shape Project(Map(Filter(Join(..)))), with projections lifted to the top."""

NARROW: tuple[Rule, ...] = (prune_columns, fuse_projects, cancel_terms, remove_trivial)
"""Puts projections back where columns end. Runs after `NORMALIZE`, which would lift them again."""

RULES: tuple[tuple[Rule, ...], ...] = (
    NORMALIZE,
    (restrict_loop,),  # needs filters where they end; what it makes is normalized
    NORMALIZE,
    (attain_extremes,),  # needs joins with all their filters and keys, and inputs that nothing has restricted yet
    (restrict_reduce,),  # needs joins with all their filters and keys; makes new ones to normalize
    NORMALIZE,
    (elide_semijoin,),  # needs all columns, to find keys; not to be normalized, which would make one join of its two
    (coarsen_reduce,),  # compares whole joins, before each has only the columns that it needs
    NARROW,
    (elide_join,),  # needs to see which columns are read; what is left is normalized and narrowed again
    (split_joins,),  # needs all inputs that are joined side by side, and no more; then as after `elide_join`
    (share_subexpressions,),  # after all that looks for whole expressions
    (ask_together,),  # writes texts, in which no rule finds anything
    (call_functions, fuse_projects),  # above what it makes no rule finds anything
    (read_clock, fuse_projects),  # runs last: its joins are for the planner; normalized, they would be one with others
)

# Real queries settle in three to five rounds; each round may open up one more level of nested joins.
MOST_ROUNDS = 30
# One by one, joins go from below others: each time all that is above is normalized again.
MOST_NODES = 5000


def optimize(relation: Relation) -> Relation:
    """The relation that the planner gets: the same columns, names included, with the same rows.

    Each phase of `RULES` runs until a round changes nothing, or for `MOST_ROUNDS`. Every rule's result is checked for
    its column types and the final one as a whole: an AssertionError here is a bug in a rule. Cost: rounds times rules
    times the size of the relation.
    """
    normal: Relation | None = None
    for rules in RULES:
        if rules is NORMALIZE and relation is normal:
            continue  # nothing has changed since
        if rules == (restrict_reduce,):
            relation = apply(restrict_reduce, relation)
        elif rules in ((elide_join,), (split_joins,)):
            relation = _settled(relation, rules)
        else:
            relation = fixpoint(relation, rules)
        normal = relation if rules is NORMALIZE else normal
    check_relation(relation)
    return relation


def _settled(relation: Relation, rules: tuple[Rule, ...]) -> Relation:
    """After `rules`, and the phases that they call for, until they find nothing more or have looked at enough nodes."""
    left = MOST_NODES
    after = fixpoint(relation, rules)
    while after is not relation:
        relation = fixpoint(fixpoint(after, NORMALIZE), NARROW)
        left -= sum(1 for _ in nodes(relation))
        if left < 0:
            break
        after = fixpoint(relation, rules)
    return relation


def fixpoint(relation: Relation, rules: tuple[Rule, ...]) -> Relation:
    """Apply the rules in turn until a whole round changes nothing."""
    for _ in range(MOST_ROUNDS):
        before = relation
        for rule in rules:
            relation = apply(rule, relation)
        if relation == before:
            break
    return relation


def apply(rule: Rule, relation: Relation) -> Relation:
    """Apply one rule, keeping the names of the root: inside, names mean nothing and rules do not look after them."""
    after = rule(relation)
    if after is relation:
        return relation
    check_schema(relation.schema, after.schema, getattr(rule, "__name__", "a rule"))
    after = renamed(after, names(relation))
    return projected(after, tuple(range(len(after.schema))), names(relation))
