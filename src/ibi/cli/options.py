"""Flags that several commands share. Their help comes from the table of settings."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from ibi.config import Settings, load_settings, setting

__all__ = ["setting_options", "settings_from"]

Command = TypeVar("Command", bound=Callable[..., Any])

_METAVARS = {"data": "DIR", "config": "FILE", "server": "URL", "port": "N"}


def setting_options(*names: str) -> Callable[[Command], Command]:
    """A flag for each of these settings; the function gets them under the settings' names, None if not given."""

    def add(command: Command) -> Command:
        for name in reversed(names):
            one = setting(name)
            assert one.flag is not None, name
            metavar = _METAVARS.get(name, name.split("_")[-1].upper())
            command = click.option(one.flag, name, metavar=metavar, help=one.option_help)(command)
        return command

    return add


def settings_from(**flags: str | None) -> Settings:
    """The settings with these flags on top; a variable that looks misspelled is mentioned. What this process makes from
    now on is for its owner alone, or for those to whom the data directory is open."""
    settings = load_settings(flags, os.environ)
    _shut_out_others(settings.data)
    for hint in settings.hints:
        click.echo(f"ibi: {hint}", err=True)
    return settings


def _shut_out_others(data: Path) -> None:
    try:
        opened_to = data.stat().st_mode & 0o077
    except OSError:
        opened_to = 0  # it is made by this process, or not at all
    os.umask(os.umask(0o077) | (0o077 & ~opened_to))
