"""Settings from flags, `IBI_*` variables, `ibi.toml` and defaults, in this order of precedence.

This module reads the file as texts and converts them to values. It also writes the first `ibi.toml`, and changes single
settings in it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ibi.settings.declaration import NamedSetting, SettingSource
from ibi.settings.errors import (
    IncompleteIdentity,
    InvalidSetting,
    SettingsConflict,
    SettingsFileMalformed,
    SettingsFileUnreadable,
    SettingsFileUnwritable,
    UnknownSetting,
    closest_name,
    display,
    display_path,
)
from ibi.settings.settings import SECTIONS, SETTINGS, Settings, setting
from ibi.standard.identity import Identity

_MOST_BYTES = 1_000_000
_KEYS = {one.name: one for one in SETTINGS if one.in_file}


class _Float(str):
    """A number with a point, as written: a float would round it."""

    __slots__ = ()


def read_settings_file(path: Path) -> Iterator[tuple[NamedSetting, str, str, str]]:
    """Yield each setting of the file with its text, and with its place and value for messages.

    Raise FileNotFoundError if there is no such file, and a `SettingsError` if it cannot be read or used.
    """
    for key, value in _flatten(path, _parse(path)):
        one = _KEYS.get(key)
        if one is None:
            raise _unknown_key(path, key)
        place = f"{key} in {display_path(path)}"
        yield one, _setting_text(one, value, place), place, _display(value)


def _parse(path: Path) -> dict[str, object]:
    content = _read_bytes(path)
    import tomllib

    try:
        return tomllib.loads(content.decode("utf-8"), parse_float=_Float)
    except UnicodeDecodeError as error:
        raise SettingsFileMalformed(file=display_path(path), reason=f"byte {error.start} is not UTF-8") from None
    except RecursionError:
        raise SettingsFileMalformed(file=display_path(path), reason="it is nested too deeply") from None
    except ValueError as error:
        raise SettingsFileMalformed(file=display_path(path), reason=display(str(error), quotes=False)) from None


def _read_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise SettingsFileUnreadable(file=display_path(path), reason=error.strerror or str(error)) from None
    if len(content) > _MOST_BYTES:
        raise SettingsFileUnreadable(file=display_path(path), reason=f"it is longer than {_MOST_BYTES} bytes")
    return content


def _flatten(path: Path, document: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield the keys with their values. Keys of a section are written `section.key`."""
    for key, value in document.items():
        if "." in key:  # in quotes: not the same as a key in a section
            raise _unknown_key(path, key)
        if key not in SECTIONS:
            yield key, value
        elif isinstance(value, dict):
            yield from ((f"{key}.{inner}", one) for inner, one in value.items())
        else:
            expected = f"a section; its settings stand below a line [{key}]"
            raise InvalidSetting(
                place=f"{key} in {display_path(path)}", value=_display(value), expected=expected, why=""
            )


def _unknown_key(path: Path, key: str) -> UnknownSetting:
    near = closest_name(key, [*_KEYS, *SECTIONS])
    instead = " (write it without quotes)" if near == key else f" (did you mean {near}?)" if near else ""
    return UnknownSetting(file=display_path(path), key=display(key, quotes=near == key), instead=instead)


def _setting_text(one: NamedSetting, value: object, place: str) -> str:
    found, allowed = _toml_type(value), one.kind.toml_types
    if found in allowed:
        return _scalar_text(value)
    why = (
        ": write it without quotes"
        if found == "string"
        else ": write it in quotes"
        if found and "string" in allowed
        else ""
    )
    shown_value = "what was given" if one.kind.secret else _display(value)
    raise InvalidSetting(place=place, value=shown_value, expected=one.kind.expected, why=why)


def _toml_type(value: object) -> str | None:
    """Return the name of a scalar's type in TOML; None for a date, a list or a section."""
    return {bool: "boolean", int: "integer", _Float: "float", str: "string"}.get(type(value))


def _scalar_text(value: object) -> str:
    """Return a scalar as text. Large integers stay hexadecimal: Python limits the digits of a decimal number."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if value.bit_length() <= 64 else hex(value)
    return str(value)


def _display(value: object) -> str:
    if isinstance(value, dict):
        return "a section"
    if isinstance(value, list):
        return "a list"
    return display(value) if type(value) is str else display(_scalar_text(value), quotes=False)


_HEAD = """\
# Settings of this data directory. Flags and IBI_* variables override them.
# What begins with # is not set; the value shown is the default.
"""
_SANDBOX = """\
# A sandbox: its labels are for trying out, and others may have the same. It stays a sandbox.
# For labels that last, `ibi init --host HOST --ip ADDRESS --data DIRECTORY` makes a new data directory.
"""


def write_initial_toml(
    path: Path,
    identity: Identity,
    *,
    port: int | None = None,
    public_url: str | None = None,
    others: Mapping[str, str] = MappingProxyType({}),
) -> bool:
    """Write a commented file with this identity, atomically. Return False if a file exists; it stays unchanged.

    `port` is the listening port; it is written unless it is the default. `public_url` is the address at which readers
    reach the Archive, `others` are further settings by their names. A missing directory is created for its owner alone.
    Raise `SettingsFileUnwritable` if writing fails.
    """
    identity.prefixes  # noqa: B018  (malformed parts are refused before anything is written)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _write_new(path, _initial_text(identity, port, public_url, others).encode("utf-8"))
    except OSError as error:
        raise SettingsFileUnwritable(file=display_path(path), reason=error.strerror or str(error)) from None


def _initial_text(identity: Identity, port: int | None, public_url: str | None, others: Mapping[str, str]) -> str:
    values = {
        **others,
        "port": None if port is None or str(port) == setting("port").default else str(port),
        "public_url": public_url,
        "mint.host": identity.host,
        "mint.ip": identity.ip,
        "mint.host_port": str(identity.host_port),
        "mint.ip_port": str(identity.ip_port),
        "mint.sandbox": "true" if identity.sandbox else "false",
    }
    # The file lies in the data directory, so it cannot name it.
    settings = [one for one in SETTINGS if one.in_file and one.name != "data"]
    top = [line for one in settings if "." not in one.name for line in _lines(one, values.get(one.name))]
    notes = {"mint": _SANDBOX if identity.sandbox else ""}
    below = [
        line for name in SECTIONS for line in (f"[{name}]", notes.get(name, ""), *_section(settings, name, values))
    ]
    return "\n".join([_HEAD, *top, *below])


def _section(settings: list[NamedSetting], name: str, values: dict[str, str | None]) -> Iterator[str]:
    for one in settings:
        if one.name.startswith(f"{name}."):
            yield from _lines(one, values.get(one.name))


def _lines(one: NamedSetting, value: str | None) -> Iterator[str]:
    key = one.name.rpartition(".")[2]
    yield f"# {one.help}"
    if value is not None:
        yield f"{key} = {one.kind.as_toml(value)}\n"
    elif one.default is not None:
        yield f"# {key} = {one.kind.as_toml(one.default)}\n"
    else:
        yield f"# {key} =\n"


def change_setting(path: Path, name: str, value: str) -> None:
    """Change the value of a top-level setting in the file, atomically. Everything else stays, including comments.

    A missing file is created. Raise `SettingsFileUnwritable` if the change fails.
    """
    try:
        before = _read_bytes(path).decode("utf-8")
    except FileNotFoundError:
        before = ""
    after = _with_line(before, name, f"{name} = {setting(name).kind.as_toml(value)}")
    if not _differ_in_one(before, after, name, value):
        raise SettingsFileUnwritable(file=display_path(path), reason=f"{name} is not in a line of its own: edit it")
    draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _write_durably(draft, after.encode("utf-8"))
        if path.exists():
            draft.chmod(path.stat().st_mode & 0o777)
        draft.replace(path)
        _sync_directory(path.parent)
    except OSError as error:
        raise SettingsFileUnwritable(file=display_path(path), reason=error.strerror or str(error)) from None
    finally:
        draft.unlink(missing_ok=True)


def _with_line(text: str, name: str, line: str) -> str:
    """Return the text with `line` instead of the line of the setting, or of the comment that shows it, before the first
    section."""
    section = re.search(r"^[ \t]*\[", text, re.MULTILINE)
    top, rest = (text, "") if section is None else (text[: section.start()], text[section.start() :])
    for pattern in (rf"^[ \t]*{name}[ \t]*=.*$", rf"^#[ \t]*{name}[ \t]*=.*$"):
        found = re.search(pattern, top, re.MULTILINE)
        if found is not None:
            return f"{top[: found.start()]}{line}{top[found.end() :]}{rest}"
    return f"{line}\n{text}"


def _differ_in_one(before: str, after: str, name: str, value: str) -> bool:
    """Return whether both texts are settings that differ only in this one."""
    import tomllib

    try:
        return tomllib.loads(after) == {**tomllib.loads(before), name: value}
    except (ValueError, RecursionError):
        return False


def _write_new(path: Path, content: bytes) -> bool:
    """Write a draft and link it to `path`. Unlike renaming, linking never replaces an existing file."""
    draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        _write_durably(draft, content)
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    _sync_directory(path.parent)
    return True


def _write_durably(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


FILE_NAME = "ibi.toml"
"""Name of the file of settings in a data directory."""


class _Given(NamedTuple):
    """A value, its source, and its place for messages."""

    value: Any
    source: SettingSource
    place: str


def load_settings(flags: Mapping[str, object], environ: Mapping[str, str]) -> Settings:
    """Load the settings and check every given value. A `SettingsError` names the first invalid one.

    `flags` maps names of settings to values; None means not given. An empty variable counts as not given. An unknown
    variable `IBI_…` is ignored, with a hint if it looks like a misspelled setting.
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
    """Return the named file, which must exist, or else the file in the data directory, if there is one; with its
    values."""
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
        # A path in a file must not depend on the working directory.
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
    """Raise `SettingsConflict` if flags name both a data directory and a server. If both are variables, the server
    wins."""
    data, server = given["data"], given["server"]
    if data.source is SettingSource.FLAG and server.source is SettingSource.FLAG:
        raise SettingsConflict(first=data.place, second=server.place)


def _check_identity(given: Mapping[str, _Given]) -> None:
    """Raise `IncompleteIdentity` for an identity without a host.

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
