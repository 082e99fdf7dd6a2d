"""The first `ibi.toml` of a data directory: what it mints as, and every other setting as a comment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ibi.config.errors import SettingsFileUnwritable
from ibi.config.shown import shown_path
from ibi.config.table import SETTINGS, Setting, setting
from ibi.model.identity import Identity

__all__ = ["write_initial_toml"]

_HEAD = """\
# Settings of this data directory. Flags and IBI_* variables override them.
# What begins with # is not set; the value shown is the default.
"""
_SANDBOX = """\
# A sandbox: its labels are for trying out, and others may have the same. It stays a sandbox.
# For labels that last, `ibi init --host HOST --ip ADDRESS --data DIRECTORY` makes a new data directory.
"""


def write_initial_toml(
    path: Path, identity: Identity, *, port: int | None = None, public_url: str | None = None
) -> bool:
    """Write a commented file with this identity, whole or not at all; False if there is a file already: it stays.

    With a `port` on which the services listen, other than the default, links that a command prints lead there;
    a `public_url` is where readers reach the Archive.

    The directory is made if it is missing, for its owner alone. `SettingsFileUnwritable` if the disk refuses.
    """
    identity.prefixes  # noqa: B018  (malformed parts are refused before anything is written)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _write_new(path, _text(identity, port, public_url).encode("utf-8"))
    except OSError as error:
        raise SettingsFileUnwritable(file=shown_path(path), reason=error.strerror or str(error)) from None


def _text(identity: Identity, port: int | None, public_url: str | None) -> str:
    values = {
        "port": None if port is None or str(port) == setting("port").default else str(port),
        "public_url": public_url,
        "mint.host": identity.host,
        "mint.ip": identity.ip,
        "mint.host_port": str(identity.host_port),
        "mint.ip_port": str(identity.ip_port),
        "mint.sandbox": "true" if identity.sandbox else "false",
    }
    # The data directory is where the file lies.
    settings = [one for one in SETTINGS if one.in_file and one.name != "data"]
    top = [line for one in settings if "." not in one.name for line in _lines(one, values.get(one.name))]
    sections = dict.fromkeys(one.name.partition(".")[0] for one in settings if "." in one.name)
    notes = {"mint": _SANDBOX if identity.sandbox else ""}
    below = [
        line for name in sections for line in (f"[{name}]", notes.get(name, ""), *_section(settings, name, values))
    ]
    return "\n".join([_HEAD, *top, *below])


def _section(settings: list[Setting], name: str, values: dict[str, str | None]) -> Iterator[str]:
    for one in settings:
        if one.name.startswith(f"{name}."):
            yield from _lines(one, values.get(one.name))


def _lines(one: Setting, value: str | None) -> Iterator[str]:
    key = one.name.rpartition(".")[2]
    yield f"# {one.help}"
    if value is not None:
        yield f"{key} = {one.kind.as_toml(value)}\n"
    elif one.default is not None:
        yield f"# {key} = {one.kind.as_toml(one.default)}\n"
    else:
        yield f"# {key} =\n"


def _write_new(path: Path, content: bytes) -> bool:
    """A second name for a file that is already whole: unlike renaming, linking never replaces anything."""
    draft = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        _write(draft, content)
        os.link(draft, path)
    except FileExistsError:
        return False
    finally:
        draft.unlink(missing_ok=True)
    _sync_directory(path.parent)
    return True


def _write(path: Path, content: bytes) -> None:
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
