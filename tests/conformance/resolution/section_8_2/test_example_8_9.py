"""R Example 8.9: an acknowledgment. It lacks `state` (E19)."""

from __future__ import annotations

from dataclasses import replace

from ibi.standard.label import parse
from ibi.standard.messages import Acknowledgment, ContentType, LabelForms, State, UrlKey, ip_addresses, parse_request

PAIRS = [
    "servicesubject=acknowledgment",
    "clientinformation.ipaddress=150.163.2.175",
    "contenttype=Data",
    "ibi=rep%20sid.inpe.br/mtc-m19/2013/09.04.12.27.57%20ibip%208JMKD3MGP7W/3EPGUE5",
    "url=http://mtc-m16d.sid.inpe.br/col/sid.inpe.br/mtc-m19/2013/09.04.12.27.57/doc/Relat%f3rio%20Final.pdf",
    "url.persistent=http://mtc-m16d.sid.inpe.br:80/8JMKD3MGP7W/3EPGUE5",
    "urlkey=1424636122-5331490054869684",
]
ACKNOWLEDGMENT = Acknowledgment(
    client_addresses=ip_addresses("150.163.2.175"),
    content_type=ContentType.DATA,
    ibi=LabelForms.parse("rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5"),
    state=None,
    url="http://mtc-m16d.sid.inpe.br/col/sid.inpe.br/mtc-m19/2013/09.04.12.27.57/doc/Relat%f3rio%20Final.pdf",
    persistent_url="http://mtc-m16d.sid.inpe.br:80/8JMKD3MGP7W/3EPGUE5",
    url_key=UrlKey("1424636122-5331490054869684"),
)
SORTED = sorted(PAIRS, key=lambda pair: pair.partition("=")[0])
BASE = "http://mtc-m16d.sid.inpe.br/sid.inpe.br/mtc-m19@80/2009/08.21.17.02"


def test_the_example_is_read() -> None:
    assert parse_request("&".join(PAIRS)) == ACKNOWLEDGMENT


def test_the_example_is_written_byte_for_byte_with_its_pairs_sorted() -> None:
    service = parse("sid.inpe.br/mtc-m19@80/2009/08.21.17.02")
    assert ACKNOWLEDGMENT.to_url("mtc-m16d.sid.inpe.br", service) == f"{BASE}?{'&'.join(SORTED)}"


def test_what_we_send_has_the_state_as_well() -> None:
    sent = replace(ACKNOWLEDGMENT, state=State.ORIGINAL).to_query()
    assert sent == "&".join([*SORTED[:4], "state=Original", *SORTED[4:]])
