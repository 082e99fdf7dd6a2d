"""The demonstration's items, deposited once each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from ibi.app.demo.collection import DemoItem, demo_items
from ibi.items.model.content import Bytes
from ibi.items.model.item import Description, Draft, Item
from ibi.items.service.deposits import Deposits
from ibi.items.service.file_selection import unread_files
from ibi.standard.label import RepositoryName
from ibi.standard.messages.identification import LabelForms
from ibi.storage.machine import write_durably

FILE_NAME: Final = "demo.json"
"""The file with the labels of the demonstration's items by name. Later starts deposit missing items."""

_WHO: Final = "demonstration"


def fill(deposits: Deposits, data: Path, public_url: str) -> dict[str, RepositoryName]:
    """Deposit the missing items, and return the labels of all by their names."""
    known = _read(data / FILE_NAME)
    for each in demo_items():
        if each.name not in known:
            item = _deposit(deposits, each, known, public_url)
            known[each.name] = item.rep
            _write(data / FILE_NAME, known)
    return known


def _deposit(deposits: Deposits, each: DemoItem, known: dict[str, RepositoryName], public_url: str) -> Item:
    files = each.files()
    description = Description(
        metadata=each.metadata,
        language=each.language,
        target=each.target,
        target_url=None if each.path_of_service is None else f"{public_url.rstrip('/')}{each.path_of_service}",
        edition_of=_forms(deposits, each.edition_of, known),
        translation_of=_forms(deposits, each.translation_of, known),
        visibility=each.visibility,
    )
    draft = Draft(description=description, files=unread_files(files))
    sources = {path: Bytes(content) for path, content in files.items()}
    # The key finds the same item again after an interruption before its name is written.
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
