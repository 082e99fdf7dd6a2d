"""What is wrong with the settings: always one line that names the place, the value and what is expected."""

from __future__ import annotations

from ibi.errors import IbiError

__all__ = [
    "IncompleteIdentity",
    "InvalidSetting",
    "SettingsConflict",
    "SettingsError",
    "SettingsFileMalformed",
    "SettingsFileUnreadable",
    "SettingsFileUnwritable",
    "UnknownSetting",
]


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
