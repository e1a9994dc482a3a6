"""Scalar expressions over columns: an interpreter that answers at once and fused loops that take over when
compiled.

`program` is the entry: `MfpProgram` runs a fused map-filter-project over a delta. Below it, `interpret` turns
an expression into vectorized numpy, one module per family of functions; `codegen` writes the same expressions
as one loop, `cut` sees to it that none is long, and `compiler` has it compiled in the background, `elsewhere`.
Text goes through `text_memo`, so that a function of one string is computed once per distinct string. `ranges`
knows, before anything runs, what can overflow.
"""
