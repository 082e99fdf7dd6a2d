"""Builds the data for the pages of administrators: each setting of the server with its source, and the audit trail.

Secrets are not shown, not even their lengths: only whether they are set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Final

from ibi.backup.store.data_files import DataDirectoryFiles
from ibi.people.store.audit_trail import FileAuditTrail
from ibi.settings import SETTINGS, NamedSetting, Secret, Settings, SettingSource
from ibi.web.admin_shell import AdminParts, ShownSetting

_OF_COMMANDS: Final = frozenset({"server", "token", "registration_key"})
"""Settings that only commands use."""
_USER_IN_URL: Final = re.compile(r"(?<=://)[^/@\s]*@")


def admin_parts(settings: Settings) -> AdminParts:
    """Return the parts that the pages of administrators need of a server with these settings."""
    data = settings.data
    return AdminParts(settings=shown_settings(settings), trail=FileAuditTrail(data), files=DataDirectoryFiles(data))


def shown_settings(settings: Settings) -> tuple[ShownSetting, ...]:
    """Return every setting that a server uses, in the order of docs/settings.md."""
    return tuple(_show_setting(one, settings) for one in SETTINGS if one.name not in _OF_COMMANDS)


def _show_setting(one: NamedSetting, settings: Settings) -> ShownSetting:
    value, source = _value_of(settings, one.name), settings.sources[one.name]
    is_secret = one.kind.secret or isinstance(value, Secret)
    # A default is shown as it is documented: `100 GB` rather than a number of bytes.
    is_default = source is SettingSource.DEFAULT
    text = (one.default or "") if is_default else "" if is_secret else ", ".join(_texts(value))
    return ShownSetting(
        name=one.name,
        value=_USER_IN_URL.sub("…@", text),
        is_secret=is_secret and value is not None,
        source=source.name.lower(),
        place=_place(one, source, settings),
        help=one.help,
    )


def _value_of(settings: Settings, name: str) -> object:
    found: object = settings
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _place(one: NamedSetting, source: SettingSource, settings: Settings) -> str:
    if source is SettingSource.FLAG:
        return one.flag or one.name
    if source is SettingSource.ENVIRONMENT:
        return one.variable
    return str(settings.file) if source is SettingSource.FILE else ""


def _texts(value: object) -> Iterator[str]:
    """Yield the value as texts, one for each element."""
    if isinstance(value, (tuple, list, frozenset, set)):
        found = [text for each in value for text in _texts(each)]
        yield from sorted(found) if isinstance(value, (frozenset, set)) else found
    elif isinstance(value, Fraction):
        yield f"{float(value):g}"
    elif isinstance(value, bool):
        yield str(value).lower()
    elif value is not None:
        yield str(Path(value).absolute() if isinstance(value, Path) else value)
