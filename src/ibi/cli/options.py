"""Flags that several commands share. Their help comes from the table of settings."""

from __future__ import annotations

import os
from collections.abc import Callable
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
    """The settings with these flags on top; a variable that looks misspelled is mentioned."""
    settings = load_settings(flags, os.environ)
    for hint in settings.hints:
        click.echo(f"ibi: {hint}", err=True)
    return settings
