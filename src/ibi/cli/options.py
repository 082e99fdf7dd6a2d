"""Flags that several commands share. Their help comes from the settings' declarations."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ibi.config import Settings, load_settings, setting

Command = TypeVar("Command", bound=Callable[..., Any])


class WholeHelpGroup(click.Group):
    """A group whose help does not cut the first sentence of a command, but wraps it."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(limit=1000)) for name, one in found if one is not None])


def setting_options(*names: str) -> Callable[[Command], Command]:
    """Add a flag for each of these settings; the function gets their values by name, None if not given."""

    def add(command: Command) -> Command:
        for name in reversed(names):
            one = setting(name)
            assert one.flag is not None, name
            command = click.option(one.flag, name, metavar=one.metavar, help=one.option_help)(command)
        return command

    return add


def settings_from(**flags: str | None) -> Settings:
    """Load the settings of a command that asks a server or works on an existing data directory."""
    settings = settings_to_begin(**flags)
    if not settings.is_remote:
        _require_data(settings)
    return settings


def settings_to_mint(**flags: str | None) -> Settings:
    """Load the settings of a command that mints: with an identity, it may create the data directory."""
    settings = settings_to_begin(**flags)
    if not settings.is_remote and settings.identity() is None:
        _require_data(settings)
    return settings


def settings_to_begin(**flags: str | None) -> Settings:
    """Load the settings of a command that may create the data directory; report variables that look misspelled.

    From here on, the files that this process creates are open to its owner and to those to whom the data directory is
    open.
    """
    settings = load_settings(flags, os.environ)
    _shut_out_others(settings.data)
    for hint in settings.hints:
        click.echo(f"ibi: {hint}", err=True)
    return settings


def _require_data(settings: Settings) -> None:
    """Refuse a missing data directory: creating it after a typing error would look like a loss of all data."""
    if not settings.data.is_dir():
        made = "`ibi init` makes one, and `ibi up` one to try things out"
        raise click.ClickException(f"there is no data directory {settings.data}: name one with --data; {made}")


def _shut_out_others(data: Path) -> None:
    try:
        opened_to = data.stat().st_mode & 0o077
    except OSError:
        opened_to = 0  # this process creates it, if it is created at all
    os.umask(os.umask(0o077) | (0o077 & ~opened_to))
