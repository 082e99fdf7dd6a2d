"""Load settings: flags override `IBI_*` variables, which override the file, which overrides the defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ibi.config.declaration import (
    IncompleteIdentity,
    InvalidSetting,
    NamedSetting,
    SettingsConflict,
    SettingsFileUnreadable,
    SettingSource,
    UnknownSetting,
    closest_name,
    display,
    display_path,
)
from ibi.config.settings import SECTIONS, SETTINGS, Settings, setting
from ibi.config.settings_file import read_settings_file

FILE_NAME = "ibi.toml"
"""Name of the file of settings in a data directory."""


class _Given(NamedTuple):
    """A value, its source, and how a message names the place where it was given."""

    value: Any
    source: SettingSource
    place: str


def load_settings(flags: Mapping[str, object], environ: Mapping[str, str]) -> Settings:
    """Load the settings and check every given value; a `SettingsError` names the first invalid one.

    `flags` maps names of settings to values; None means not given. An empty variable counts as not given. A variable
    `IBI_…` that is not a setting is ignored, with a hint if it looks like a misspelled one.
    """
    defaults = {one.name: _default(one) for one in SETTINGS}
    outside = {**dict(_from_environment(environ)), **dict(_from_flags(flags))}
    file, in_file = _file_and_values({**defaults, **outside})
    given = {**defaults, **in_file, **outside}
    _check_target(given)
    _check_identity(given)
    return _build_settings(given, file, tuple(_hints(environ)))


def _default(one: NamedSetting) -> _Given:
    value = None if one.default is None else one.kind.read(one.default)
    return _Given(value, SettingSource.DEFAULT, "the default")


def _from_flags(flags: Mapping[str, object]) -> Iterator[tuple[str, _Given]]:
    for name, value in flags.items():
        if value is not None:
            one = setting(name)
            text = str(value).lower() if isinstance(value, bool) else str(value)
            place = one.flag or name
            yield name, _Given(_read_value(one, text, place), SettingSource.FLAG, place)


def _from_environment(environ: Mapping[str, str]) -> Iterator[tuple[str, _Given]]:
    for one in SETTINGS:
        text = environ.get(one.variable)
        if text:
            yield one.name, _Given(_read_value(one, text, one.variable), SettingSource.ENVIRONMENT, one.variable)


def _file_and_values(given: Mapping[str, _Given]) -> tuple[Path | None, dict[str, _Given]]:
    """Read the file that was named, which must exist, or else the one in the data directory, if there is one."""
    if given["config"].value is not None:
        return _named_file(given["config"])
    file: Path = given["data"].value / FILE_NAME
    try:
        values = dict(_from_file(file))
    except FileNotFoundError:
        return None, {}
    if "data" in values:
        raise UnknownSetting(
            file=display_path(file), key="data", instead=": the file lies in the data directory itself"
        )
    return file, values


def _named_file(config: _Given) -> tuple[Path, dict[str, _Given]]:
    file: Path = config.value
    try:
        return file, dict(_from_file(file))
    except FileNotFoundError:
        raise SettingsFileUnreadable(file=display_path(file), reason=f"no such file ({config.place})") from None


def _from_file(file: Path) -> Iterator[tuple[str, _Given]]:
    for one, text, place, as_written in read_settings_file(file):
        value = _read_value(one, text, place, as_written)
        # A path in a file does not depend on the working directory.
        value = file.parent / value if isinstance(value, Path) else value
        yield one.name, _Given(value, SettingSource.FILE, place)


def _read_value(one: NamedSetting, text: str, place: str, as_written: str | None = None) -> Any:
    """Convert `text` to a value; a message shows it as `as_written`, unless it is secret."""
    try:
        return one.kind.read(text)
    except ValueError as error:
        value = "what was given" if one.kind.secret else as_written or display(text)
        why = f": {error}" if str(error) else ""
        raise InvalidSetting(place=place, value=value, expected=one.kind.expected, why=why) from None


def _check_target(given: Mapping[str, _Given]) -> None:
    """Refuse flags for both a data directory and a server. If both are variables, the server is asked."""
    data, server = given["data"], given["server"]
    if data.source is SettingSource.FLAG and server.source is SettingSource.FLAG:
        raise SettingsConflict(first=data.place, second=server.place)


def _check_identity(given: Mapping[str, _Given]) -> None:
    """Refuse an identity without a host.

    If it were ignored, labels of a sandbox would be minted where global ones were intended.
    """
    if given["mint.host"].value is not None:
        return
    for name in ("mint.ip", "mint.host_port", "mint.ip_port", "mint.sandbox"):
        if given[name].source is not SettingSource.DEFAULT:
            raise IncompleteIdentity(
                place=given[name].place, missing="mint.host", reason="an identity begins with its host"
            )


def _hints(environ: Mapping[str, str]) -> Iterator[str]:
    variables = [one.variable for one in SETTINGS]
    for name in sorted(environ):
        if name.startswith("IBI_") and name not in variables:
            near = closest_name(name, variables)
            if near is not None:
                yield f"{display(name, quotes=False)} is not a setting and is passed over; did you mean {near}?"


def _build_settings(given: Mapping[str, _Given], file: Path | None, hints: tuple[str, ...]) -> Settings:
    values = {name: one.value for name, one in given.items()}
    sources = {name: one.source for name, one in given.items()}
    sections = {name: section(**_take_section(values, f"{name}.")) for name, section in SECTIONS.items()}
    return Settings(**values, **sections, file=file, sources=sources, hints=hints)


def _take_section(values: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Remove the values of a section from `values` and return them by their names within the section."""
    return {name.removeprefix(prefix): values.pop(name) for name in list(values) if name.startswith(prefix)}
