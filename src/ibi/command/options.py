"""Flags and arguments that several commands share. The declarations of the settings provide the help of flags."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ibi.command.acting_user import act_as_owner
from ibi.settings import Settings, load_settings, setting
from ibi.standard.errors import InvalidLabel, InvalidPersistentUrl
from ibi.standard.label import Label, parse

Command = TypeVar("Command", bound=Callable[..., Any])


class WholeHelpGroup(click.Group):
    """A group with help that wraps the first sentence of a command instead of cutting it."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(limit=1000)) for name, one in found if one is not None])


jobs_option = click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(1, 256),
    help="How many processes share the work; without it one for each processor, if there is enough to do.",
)


def setting_options(*names: str) -> Callable[[Command], Command]:
    """Add a flag for each of these settings. The function gets their values by name, None if not given."""

    def add(command: Command) -> Command:
        for name in reversed(names):
            one = setting(name)
            assert one.flag is not None, name
            command = click.option(one.flag, name, metavar=one.metavar, help=one.option_help)(command)
        return command

    return add


def settings_from(**flags: str | None) -> Settings:
    """Return the settings of a command that asks a server or works on an existing data directory."""
    settings = settings_to_begin(**flags)
    if not settings.is_remote:
        require_data(settings)
    return settings


def settings_to_mint(**flags: str | None) -> Settings:
    """Return the settings of a command that mints. With an identity, it may create the data directory."""
    settings = settings_to_begin(**flags)
    if not settings.is_remote and settings.identity() is None:
        require_data(settings)
    return settings


def settings_to_begin(**flags: str | None) -> Settings:
    """Return the settings of a command that may create the data directory."""
    settings = settings_to_listen(**flags)
    enter_data(settings)
    return settings


def settings_to_read(**flags: str | None) -> Settings:
    """Return the settings of a command that any user may run: it asks a server, or only reads a data directory."""
    settings = settings_to_listen(**flags)
    if not settings.is_remote:
        enter_data(settings, reading=True)
        require_data(settings)
    return settings


def settings_to_restore(**flags: str | None) -> Settings:
    """Return the settings of the command that restores a data directory, or continues that."""
    settings = settings_to_listen(**flags)
    enter_data(settings, restoring=True)
    return settings


def settings_to_listen(**flags: str | None) -> Settings:
    """Return the settings of a server, and report variables that look misspelled. The server calls `enter_data` once it
    listens, because only root may listen on some ports."""
    settings = load_settings(flags, os.environ)
    for hint in settings.hints:
        click.echo(f"ibi: {hint}", err=True)
    return settings


def enter_data(settings: Settings, *, reading: bool = False, restoring: bool = False) -> None:
    """Work on the data directory as its owner, or raise an error; see `act_as_owner`.

    From here on, new files are readable by their owner, and by users who may already read the data directory.
    """
    if not settings.is_remote:
        act_as_owner(settings.data, reading=reading)
        if not restoring:
            _require_whole(settings.data)
    _shut_out_others(settings.data)


def require_data(settings: Settings) -> None:
    """Raise an error for a missing data directory. Creating it after a typing error would look like a loss of all
    data."""
    if not settings.data.is_dir():
        made = "`ibi init` makes one, and `ibi up` one to try things out"
        raise click.ClickException(f"there is no data directory {settings.data}: name one with --data; {made}")


def _require_whole(data: Path) -> None:
    """Raise an error for an unfinished restore: parts may be missing, and the clock state is not settled."""
    from ibi.backup.model.backup import RESTORE_MARK

    if (data / RESTORE_MARK).exists():
        raise click.ClickException(f"{data} is not restored to its end: run `ibi restore` again, which goes on")


def _shut_out_others(data: Path) -> None:
    try:
        opened_to = data.stat().st_mode & 0o077
    except OSError:
        opened_to = 0  # this process creates it, if it is created at all
    os.umask(os.umask(0o077) | (0o077 & ~opened_to))


_ELSEWHERE = "it leads from the item to another, or to a part of it; if the item itself is meant, give {label}"


def read_label(text: str) -> Label:
    """Return the label in `text`, which is a label or a persistent URL.

    Raise `InvalidLabel` or `InvalidPersistentUrl` if it is neither. Also refuse a link to another item or to a part of
    the item: a command changes or shows exactly the named item.
    """
    try:
        return parse(text)
    except InvalidLabel as reason:
        from ibi.standard.persistent_url import PersistentUrl

        try:
            link = PersistentUrl.parse(text)
        except InvalidPersistentUrl:
            if "://" in text:
                raise
            raise reason from None
        if link.relation.steps or link.file_path is not None or link.file_list:
            raise InvalidPersistentUrl(text, 0, _ELSEWHERE, label=str(link.label)) from None
        return link.label
