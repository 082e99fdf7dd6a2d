"""The commands. Each one's module is imported when it is called, so that `ibi explain` answers at once."""

from __future__ import annotations

from importlib import import_module

import click

from ibi import __version__

__all__ = ["app"]

# Command and the module that defines it under the same name.
_COMMANDS = {
    "archive": "ibi.cli.archive",
    "delete": "ibi.cli.delete",
    "deposit": "ibi.cli.deposit",
    "explain": "ibi.cli.explain",
    "init": "ibi.cli.init",
    "mint": "ibi.cli.mint",
    "person": "ibi.cli.person",
    "rebuild": "ibi.cli.rebuild",
    "relate": "ibi.cli.relate",
    "resolve": "ibi.cli.resolve",
    "resolver": "ibi.cli.resolver",
    "show": "ibi.cli.show",
    "stats": "ibi.cli.stats",
    "token": "ibi.cli.token",
    "trace": "ibi.cli.trace",
    "up": "ibi.cli.up",
    "update": "ibi.cli.update",
    "url": "ibi.cli.url",
    "verify": "ibi.cli.verify",
}


class _Lazy(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        command: click.Command = getattr(import_module(_COMMANDS[name]), name)
        return command


@click.group(cls=_Lazy, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="ibi", message="%(prog)s %(version)s")
@click.pass_context
def app(context: click.Context) -> None:
    """Internet Based Identifiers: labels that nobody else can get, and links to them that last."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
