"""Errors of settings, with values shortened for display."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ibi.standard.errors import IbiError

_MOST = 120


def display(text: str, *, quotes: bool = True) -> str:
    """Return a text for a message, cut if it is long; without `quotes` it is quoted only if it is not printable."""
    cut = text if len(text) <= _MOST else f"{text[:_MOST]}…"
    return cut if not quotes and cut.isprintable() else repr(cut)


def display_path(path: Path) -> str:
    """Return a path for a message, never cut: the reader has to find the file."""
    text = str(path)
    return text if text.isprintable() else repr(text)


def closest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that a misspelled one probably stands for, if there is one."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name[:_MOST], list(known), n=1, cutoff=0.75)), None)


class SettingsError(IbiError):
    """The settings cannot be used."""

    code = "invalid-settings"


class InvalidSetting(SettingsError):
    """{place}: {value} is not {expected}{why}."""

    code = "invalid-setting"


class UnknownSetting(SettingsError):
    """{file}: {key} is not a setting that this file can have{instead}."""

    code = "unknown-setting"


class IncompleteIdentity(SettingsError):
    """{place} is given, but mint.host is not: an identity begins with its host."""

    code = "incomplete-identity"


class SettingsConflict(SettingsError):
    """{first} and {second} exclude each other: give one of them."""

    code = "settings-conflict"


class SettingsFileUnreadable(SettingsError):
    """{file} cannot be read: {reason}."""

    code = "settings-file-unreadable"


class SettingsFileMalformed(SettingsError):
    """{file} is not a TOML file: {reason}."""

    code = "settings-file-malformed"


class SettingsFileUnwritable(SettingsError):
    """{file} cannot be written: {reason}."""

    code = "settings-file-unwritable"
