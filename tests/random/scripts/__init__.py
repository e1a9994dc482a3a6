"""Random scripts: statements of every kind one after another, on the engine and on DuckDB, which must agree after each.

`World` is what there is while a script is made. Whoever makes statements of a kind is a function from it to steps, in a
file of its kind, and stands with how often it is called in the table of `script.py`.
"""
