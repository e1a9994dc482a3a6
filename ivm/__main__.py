"""`python -m ivm`: the command line, where its program is not on the path."""

from ivm.cli import main

main()
