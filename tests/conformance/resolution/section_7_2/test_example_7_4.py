"""R Example 7.4: the resolver calls the Archive back."""

from __future__ import annotations

from ibi.standard.label import parse
from ibi.standard.messages import InclusionConfirmationRequest, parse_request

URL = "http://mtc-m21.sid.inpe.br/sid.inpe.br/mtc-m21/2012/06.05.15.34.39?servicesubject=inclusionConfirmationRequest"


def test_the_example_is_read() -> None:
    assert parse_request(URL.partition("?")[2]) == InclusionConfirmationRequest()


def test_the_example_is_written_byte_for_byte() -> None:
    service = parse("sid.inpe.br/mtc-m21/2012/06.05.15.34.39")
    assert InclusionConfirmationRequest().to_url("mtc-m21.sid.inpe.br", service) == URL
