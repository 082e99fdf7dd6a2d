"""The lines of `ibi transfers list`."""

from __future__ import annotations

import pytest

from ibi.transfers.cli.transfers import _print
from ibi.transfers.resources import TransferResource

GIVER = "a.example/ibi/2020/01.01.00.00"


@pytest.mark.parametrize(("address", "shown"), [("http://a.example", "http://a.example"), ("", GIVER)])
def test_a_sender_whose_address_is_not_known_is_named_by_its_label(
    address: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    come = TransferResource(
        direction="in", item="a.example/x/2020/01.01.00.01", stage="taken", archive=address, service=GIVER, since=0,
        reason="",
    )  # fmt: skip
    _print(come, as_json=False)
    assert capsys.readouterr().out == f"a.example/x/2020/01.01.00.01  from {shown}  taken\n"
