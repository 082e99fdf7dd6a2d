"""The chains of Copies, as the service that copies hands them to the ledger."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from ibi.copies.opening import _note_chain
from ibi.items.rules.provenance import Chain, sign_release
from ibi.settings import load_settings
from ibi.standard.instant import Instant
from ibi.standard.label import Label, RepositoryName
from ibi.standard.messages import LabelForms
from ibi.standard.signing import SigningKey
from ibi.transfers.store.transfers import SqliteTransferLedger

ITEM = RepositoryName.parse("arq1.urlib.net/lab/2010/01.01.00.01")
GIVER, TAKER, OTHER = (RepositoryName.parse(f"arq{number}.urlib.net/lab/2009/07.21.14.43") for number in (1, 2, 3))
KEYS = {GIVER: SigningKey(b"g" * 32), TAKER: SigningKey(b"t" * 32)}


@pytest.mark.parametrize(("own", "is_compared"), [(TAKER, True), (GIVER, False), (OTHER, False)])
def test_a_copy_whose_chain_gives_the_original_here_is_compared(tmp_path: Path, own: Label, is_compared: bool) -> None:
    """Its giver sees that the chain is known here, and tells it no more."""
    settings = load_settings({"data": str(tmp_path / "data"), "lock_dir": str(tmp_path / "locks")}, {})
    chain = sign_release(
        Chain(), LabelForms.of(ITEM), GIVER, TAKER, KEYS[TAKER].public, "0" * 128, Instant(1), KEYS[GIVER]
    )
    for _ in range(2):
        _note_chain(settings, frozenset({own}), ITEM, chain)
    with closing(SqliteTransferLedger(settings.data, settings.lock_dir)) as ledger:
        assert ledger.chain(ITEM) == chain.texts
        assert [each.rep for each in ledger.open_items()] == [ITEM] * is_compared
