"""R Example 9.7: JUNTAR puts pairs side by side, with a blank between them."""

from __future__ import annotations

from ibi.standard.pairs import Pairs
from tests.support.standards_archives import MTC_M16D, REPORT


def test_two_pairs_are_joined_by_a_blank() -> None:
    pairs = Pairs([("archiveaddress", "mtc-m16d.sid.inpe.br"), ("state", "Original")])
    assert pairs.encode_on_one_line() == b"archiveaddress mtc-m16d.sid.inpe.br state Original"


def test_both_pairs_are_the_archives_own() -> None:
    joined = " ".join(MTC_M16D.pair(name, REPORT) for name in ("archiveaddress", "state"))
    assert joined == "archiveaddress mtc-m16d.sid.inpe.br state Original"
