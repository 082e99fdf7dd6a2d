"""Digests of blocks that are kept while content is taken in, for quick checks when it is read."""

from __future__ import annotations

from hashlib import sha256, sha512
from pathlib import Path

import pytest

from ibi.items.model.content import BLOCK, Bytes, Change, Copy, Source, has_kept_digests
from ibi.items.store.catalogue.catalog import FILE_NAME
from ibi.items.store.catalogue.integrity import SqliteIntegrity
from ibi.items.store.ocfl.store import OcflStore
from ibi.standard.instant import Instant

LABEL = "sid.inpe.br/mtc-m18.8080/2026/01.02.03.04"


@pytest.mark.parametrize("as_copy", [False, True])
@pytest.mark.parametrize("size", [1000, 200_000, BLOCK, BLOCK + 1])
def test_what_is_taken_in_has_its_digests_unless_it_is_small(tmp_path: Path, size: int, as_copy: bool) -> None:
    content, origin = b"x" * size, tmp_path / "origin"
    origin.write_bytes(content)
    source: Source = Copy(str(origin)) if as_copy else Bytes(content)
    ledger = SqliteIntegrity(tmp_path / FILE_NAME)
    store = OcflStore(tmp_path / "content", blocks=ledger)
    store.create(LABEL, {"doc/a": source}, Change("Ana", "deposit", Instant(1_800_000_000)))
    store.close()
    blocks = b"".join(sha256(content[start : start + BLOCK]).digest() for start in range(0, size, BLOCK))
    assert ledger.find_blocks(sha512(content).hexdigest()) == (blocks if has_kept_digests(size) else None)
    ledger.close()
