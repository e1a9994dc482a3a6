"""Scalar expressions over columns: an interpreter that answers at once and fused loops that take over when compiled.

`program` is the entry: `MfpProgram` runs a fused map-filter-project over a delta, which `shape` cuts into pieces that
compile fast. Below it, `interpret` turns an expression into vectorized numpy; `codegen` writes the same expressions as
one loop, and `compiler` has it compiled in the background, `elsewhere`. What each function computes stands in `bodies`.
Text goes through `text_memo`, so that a function of one string is computed once per distinct string.
"""
