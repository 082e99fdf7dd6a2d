"""Settings: `ibi.toml`, `IBI_*` variables and flags, converted to typed values.

The annotated fields of `Settings` declare all settings. Loading, messages, the first `ibi.toml`, the help of the
command and docs/settings.md follow from them. This package imports no database, web framework or TOML parser before it
is needed.
"""

from __future__ import annotations

from ibi.settings.declaration import NamedSetting, Setting, SettingSource
from ibi.settings.errors import (
    IncompleteIdentity,
    InvalidSetting,
    SettingsConflict,
    SettingsError,
    SettingsFileMalformed,
    SettingsFileUnreadable,
    SettingsFileUnwritable,
    UnknownSetting,
)
from ibi.settings.kinds import Secret
from ibi.settings.loading import FILE_NAME, change_setting, load_settings, write_initial_toml
from ibi.settings.sections import ResolveSettings, SiteSettings
from ibi.settings.settings import SETTINGS, ArchiveSettings, MailSettings, MintSettings, Settings, setting

__all__ = [
    "FILE_NAME",
    "SETTINGS",
    "ArchiveSettings",
    "IncompleteIdentity",
    "InvalidSetting",
    "MailSettings",
    "MintSettings",
    "NamedSetting",
    "ResolveSettings",
    "Secret",
    "Setting",
    "SettingSource",
    "Settings",
    "SettingsConflict",
    "SettingsError",
    "SettingsFileMalformed",
    "SettingsFileUnreadable",
    "SettingsFileUnwritable",
    "SiteSettings",
    "UnknownSetting",
    "change_setting",
    "load_settings",
    "setting",
    "write_initial_toml",
]
