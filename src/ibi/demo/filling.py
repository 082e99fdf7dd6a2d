"""Deposits the demonstration in an Archive, item by item; existing items stay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from ibi.demo.collection import DemoItem, demo_items
from ibi.label import RepositoryName
from ibi.messages.label_forms import LabelForms
from ibi.model.content import Bytes
from ibi.model.item import Draft, Item
from ibi.services.items.deposits import Deposits
from ibi.services.items.file_selection import unread_files
from ibi.storage.machine import write_durably

FILE_NAME: Final = "demo.json"
"""The file with the names of the demonstration's items and their labels: later starts add what is missing."""

_WHO: Final = "demonstration"


def fill(deposits: Deposits, data: Path, public_url: str) -> dict[str, RepositoryName]:
    """Deposit the items that are missing; return the labels of all by their names."""
    known = _read(data / FILE_NAME)
    for each in demo_items():
        if each.name not in known:
            item = _deposit(deposits, each, known, public_url)
            known[each.name] = item.rep
            _write(data / FILE_NAME, known)
    return known


def _deposit(deposits: Deposits, each: DemoItem, known: dict[str, RepositoryName], public_url: str) -> Item:
    files = each.files()
    draft = Draft(
        metadata=each.metadata,
        language=each.language,
        files=unread_files(files),
        target=each.target,
        target_url=None if each.path_of_service is None else f"{public_url.rstrip('/')}{each.path_of_service}",
        edition_of=_forms(deposits, each.edition_of, known),
        translation_of=_forms(deposits, each.translation_of, known),
        visibility=each.visibility,
    )
    sources = {path: Bytes(content) for path, content in files.items()}
    # With a key: after an interruption before the name is written down, the same item is found again.
    item = deposits.deposit(draft, sources, _WHO, key=f"demonstration: {each.name}")
    if each.deleted is not None and item.tombstone is None:
        successor = None if each.deleted.replaced_by is None else known[each.deleted.replaced_by]
        item = deposits.delete(item.rep, each.deleted.reason, _WHO, replaced_by=successor)
    return item


def _forms(deposits: Deposits, name: str | None, known: dict[str, RepositoryName]) -> LabelForms | None:
    return None if name is None else deposits.forms(known[name])


def _read(path: Path) -> dict[str, RepositoryName]:
    try:
        written = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return {name: RepositoryName.parse(label) for name, label in written.items()}


def _write(path: Path, known: dict[str, RepositoryName]) -> None:
    text = json.dumps({name: label.spelling for name, label in known.items()}, ensure_ascii=False, indent=2)
    write_durably(path, text.encode())
