"""Settings: `ibi.toml`, `IBI_*` variables and flags made into typed values.

The annotated fields of `Settings` say what there is; loading, messages, the first `ibi.toml`, the help of the command
and docs/settings.md all follow them. Nothing here loads a database, a web framework or a TOML parser before it is
needed.
"""

from __future__ import annotations

from ibi.config.declaration import (
    IncompleteIdentity,
    InvalidSetting,
    NamedSetting,
    Setting,
    SettingsConflict,
    SettingsError,
    SettingsFileMalformed,
    SettingsFileUnreadable,
    SettingsFileUnwritable,
    SettingSource,
    UnknownSetting,
)
from ibi.config.kinds import Secret
from ibi.config.loading import FILE_NAME, change_setting, load_settings, write_initial_toml
from ibi.config.sections import ResolveSettings, SiteSettings
from ibi.config.settings import (
    SETTINGS,
    ArchiveSettings,
    MailSettings,
    MintSettings,
    Settings,
    setting,
)

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
