"""The commands and their help. Each command's module is imported for its signature only; what it needs comes when it
runs, so that `ibi explain` answers at once."""

from __future__ import annotations

from typing import Annotated

import typer

from ibi.cli.explain import explain
from ibi.cli.url import url

__all__ = ["app"]

app = typer.Typer(
    name="ibi",
    help="Internet Based Identifiers: labels that nobody else can get, and links to them that last.",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from ibi import __version__

        typer.echo(f"ibi {__version__}")
        raise typer.Exit


@app.callback()
def _everywhere(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it and exit.")
    ] = False,
) -> None:
    """Internet Based Identifiers: labels that nobody else can get, and links to them that last."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


app.command()(explain)
app.command()(url)
