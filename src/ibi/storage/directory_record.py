"""The file `directory.json` of a data directory: the databases begun in it, and the last used keys.

If a file that is recorded here is gone or empty, it was lost. Then it is refused, and not silently begun again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from ibi.storage.errors import DirectoryRecordDamaged, DiskRefused
from ibi.storage.locks import alone
from ibi.storage.machine import make_directory, refusals, write_durably

RECORD: Final = "directory.json"
LAYOUT: Final = 2
"""The present layout of a data directory. Layout 1 had no such file, and a database for each capability."""
NOTES: Final = "databases"
"""The folder of layout 1 with one note file for each entry of this record."""
_EARLIER: Final = ("accounts.sqlite", "people.sqlite", "registry.sqlite")
"""Databases of layout 1 that a directory without notes may have."""
_LOCK: Final = "directory.lock"
_BEGUN: Final = "begun"
_KEYS: Final = "keys"


def was_begun(path: Path) -> bool:
    """Return whether this file of a data directory is known to have existed."""
    return begun_before(path) is not None


def begun_before(path: Path) -> str | None:
    """Return the time of the note, as ISO 8601 in UTC; None without a note. The file was begun no later."""
    found = _read_section(path.parent, _BEGUN).get(path.name)
    return None if found is None else str(found)


def note_begun(path: Path) -> None:
    """Record that the file exists from now on. Call this once the file is durable, and before it has content."""
    if not was_begun(path):
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        _change_section(path.parent, _BEGUN, lambda noted: noted.setdefault(path.name, now))


def forget_begun(path: Path) -> None:
    """Allow the next opener to begin the file anew if it is missing."""
    if was_begun(path):
        _change_section(path.parent, _BEGUN, lambda noted: noted.pop(path.name, None))


def noted_key(directory: Path, name: str) -> str | None:
    """Return the public key last used under that name, as text."""
    found = _read_section(directory, _KEYS).get(name)
    return None if found is None else str(found)


def note_key(directory: Path, name: str, key: str) -> None:
    """Record the public key in use under that name from now on."""
    _change_section(directory, _KEYS, lambda noted: noted.__setitem__(name, key))


def _read_section(directory: Path, name: str) -> dict[str, Any]:
    return dict(_read_record(directory)[name])


def _read_record(directory: Path) -> dict[str, Any]:
    path = directory / RECORD
    with refusals(DiskRefused, path):
        try:
            text = path.read_bytes()
        except FileNotFoundError:
            return _read_earlier_notes(directory)
    try:
        found = json.loads(text)
        if not (
            isinstance(found[_BEGUN], dict) and isinstance(found[_KEYS], dict) and isinstance(found["layout"], int)
        ):
            raise ValueError("it is no record of a data directory")
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DirectoryRecordDamaged(path=path, reason=str(error) or type(error).__name__) from error
    return dict(found)


def layout_of(directory: Path) -> int:
    """Return the number of the layout of a data directory."""
    return int(_read_record(directory)["layout"])


def note_layout(directory: Path, layout: int) -> None:
    """Record the layout of the directory. Layout 1 is recorded while an upgrade is under way."""
    with refusals(DiskRefused, directory / RECORD), alone(directory / _LOCK):
        record = {**_read_record(directory), "layout": layout}
        write_durably(directory / RECORD, json.dumps(record, indent=1, sort_keys=True).encode() + b"\n", 0o600)


def _read_earlier_notes(directory: Path) -> dict[str, Any]:
    """Return the record of a directory without one, from the notes of layout 1 if there are any."""
    begun, keys = dict[str, str](), dict[str, str]()
    try:
        notes = sorted((directory / NOTES).iterdir())
    except (FileNotFoundError, NotADirectoryError):
        notes = []
        if not any((directory / name).exists() for name in _EARLIER):
            return {"layout": LAYOUT, _BEGUN: begun, _KEYS: keys}
    for note in notes:
        text = note.read_text("ascii", "replace").strip()
        if note.suffix == ".key":
            keys[note.stem] = text
        else:
            begun[note.name] = text.rpartition(" ")[2]
    return {"layout": LAYOUT - 1, _BEGUN: begun, _KEYS: keys}


def _change_section(directory: Path, name: str, change: Callable[[dict[str, Any]], object]) -> None:
    with refusals(DiskRefused, directory / RECORD):
        make_directory(directory)
        with alone(directory / _LOCK):
            record = _read_record(directory)
            before = dict(record[name])
            change(record[name])
            if record[name] != before or not (directory / RECORD).exists():
                write_durably(directory / RECORD, json.dumps(record, indent=1, sort_keys=True).encode() + b"\n", 0o600)
