"""The file with the named holders of Copies, and with the Archives that offer to hold them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from ibi.membership.model.copy_holders import CopyOffer, KnownCopyHolders
from ibi.standard.errors import InvalidInput
from ibi.standard.label import parse
from ibi.standard.messages.holders import CopyHolder
from ibi.standard.storage_errors import StoreDamaged
from ibi.storage.errors import DiskRefused
from ibi.storage.locks import alone
from ibi.storage.machine import refusals, write_durably

FILE: Final = "copy-holders.json"
_MOST_READ: Final = 4 << 20


class _Offer(msgspec.Struct):
    holder: str
    first: int
    last: int


class _Content(msgspec.Struct):
    named: list[str] = []
    offers: list[_Offer] = []
    declined: list[str] = []


class CopyHoldersDamaged(StoreDamaged):
    """{path} cannot be read: {reason}. Put it back from a backup, or remove it and name the holders of Copies again
    with `ibi archive holders add`."""


class CopyHoldersFile:
    """Implements the port `CopyHolderStore` of one data directory. The file is read again when it has changed."""

    def __init__(self, data: Path) -> None:
        self._path = data / FILE
        self._last: tuple[tuple[int, int, int] | None, KnownCopyHolders] = None, KnownCopyHolders()

    def read(self) -> KnownCopyHolders:
        with refusals(DiskRefused, self._path):
            try:
                found = self._path.stat()
            except FileNotFoundError:
                return KnownCopyHolders()
            state = found.st_mtime_ns, found.st_size, found.st_ino
            if self._last[0] != state:
                self._last = state, self._read()
            return self._last[1]

    def change(self, make: Callable[[KnownCopyHolders], KnownCopyHolders]) -> KnownCopyHolders:
        with refusals(DiskRefused, self._path), alone(self._path.with_suffix(".lock")):
            known = self._read()
            after = make(known)
            if after != known:
                write_durably(self._path, msgspec.json.format(msgspec.json.encode(_content(after))), 0o600)
            return after

    def _read(self) -> KnownCopyHolders:
        try:
            with self._path.open("rb") as file:
                found = msgspec.json.decode(file.read(_MOST_READ), type=_Content)
            return KnownCopyHolders(
                tuple(map(CopyHolder.parse, found.named)),
                tuple(CopyOffer(CopyHolder.parse(each.holder), each.first, each.last) for each in found.offers),
                tuple(map(parse, found.declined)),
            )
        except FileNotFoundError:
            return KnownCopyHolders()
        except (msgspec.MsgspecError, InvalidInput, ValueError, RecursionError) as error:
            raise CopyHoldersDamaged(path=str(self._path), reason=str(error)[:200]) from None


def _content(known: KnownCopyHolders) -> _Content:
    return _Content(
        [str(each) for each in known.named],
        [_Offer(str(each.holder), each.first, each.last) for each in known.offers],
        [each.spelling for each in known.declined],
    )
