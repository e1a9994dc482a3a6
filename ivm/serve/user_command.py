"""`ivm user NAME`: what stands of a user in a file of users."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

app = typer.Typer(
    help="Print a user for the file that `ivm serve --users` reads.",
    add_completion=False,
    context_settings={"allow_interspersed_args": True},  # options behind the name
)


@app.callback(invoke_without_command=True)
def print_user(
    name: Annotated[str, typer.Argument(help="How the user is called.")],
    role: Annotated[Literal["read", "write"], typer.Option(help="What for.")] = "read",
    token: Annotated[
        bool, typer.Option("--token", help="With a new token, told on stderr, in place of a password.")
    ] = False,
) -> None:
    """Print a user for the file that `ivm serve --users` reads; asks for a password, or makes a token."""
    from ivm.serve.users import as_toml, new_token, user_with_password, user_with_token  # noqa: PLC0415  the engine

    if token:
        made = new_token()
        typer.echo(f"the token of {name}, which is nowhere else: {made}", err=True)
        typer.echo(as_toml(user_with_token(name, made, role)), nl=False)
        return
    password = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    typer.echo(as_toml(user_with_password(name, password, role)), nl=False)
