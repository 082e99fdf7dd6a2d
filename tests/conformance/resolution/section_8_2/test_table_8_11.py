"""R Table 8.11: the pairs of an acknowledgment."""

from __future__ import annotations

import pytest

from ibi.standard.errors import InvalidMessage
from ibi.standard.messages import Acknowledgment, ContentType, MissingPair, State, parse_request

PAIRS = {
    "servicesubject": "acknowledgment",
    "clientinformation.ipaddress": "150.163.2.175",
    "contenttype": "Data",
    "ibi": "rep%20sid.inpe.br/mtc-m19/2013/09.04.12.27.57%20ibip%208JMKD3MGP7W/3EPGUE5",
    "state": "Original",
    "url": "http://mtc-m16d.sid.inpe.br/doc.pdf",
    "url.persistent": "http://urlib.net:80/8JMKD3MGP7W/3EPGUE5",
    "urlkey": "1424636122-5331490054869684",
}


def read(**changed: str | None) -> Acknowledgment:
    pairs = {**PAIRS, **{name.replace("__", "."): value for name, value in changed.items()}}
    request = parse_request("&".join(f"{name}={value}" for name, value in pairs.items() if value is not None))
    assert isinstance(request, Acknowledgment)
    return request


@pytest.mark.parametrize("name", ["clientinformation__ipaddress", "contenttype", "url", "url__persistent", "urlkey"])
def test_a_pair_that_is_obligatory_cannot_be_missing(name: str) -> None:
    with pytest.raises(MissingPair, match=name.replace("__", ".")):
        read(**{name: None})


def test_the_ibi_is_optional_because_not_everything_has_one() -> None:
    assert read(ibi=None).ibi is None
    assert "ibi=" not in read(ibi=None).to_query()


@pytest.mark.parametrize("content_type", list(ContentType))
def test_the_content_is_data_or_metadata(content_type: ContentType) -> None:
    assert read(contenttype=content_type).content_type is content_type


@pytest.mark.parametrize("state", [State.ORIGINAL, State.COPY])
def test_the_state_is_original_or_copy(state: State) -> None:
    assert read(state=state).state is state


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("contenttype", "Text"),
        ("contenttype", ""),
        ("state", "Deleted"),
        ("state", "Lost"),
        ("ibi", "rep%208JMKD3MGP7W/3EPGUE5"),
        ("url", ""),
        ("url", "javascript:alert(1)"),
        ("url", "ftp://host/x"),
        ("url", "http://"),
        ("url", "http://user@host/"),
        ("url", "http://good.org%5C@evil.org/"),
        ("url__persistent", "urlib.net/8JMKD3MGP7W/3EPGUE5"),
        ("urlkey", "1"),
    ],
)
def test_other_values_are_refused(name: str, value: str) -> None:
    with pytest.raises(InvalidMessage, match=name.replace("__", ".")):
        read(**{name: value})


def test_a_url_may_be_of_https() -> None:
    assert read(url="https://host.org/x").url == "https://host.org/x"
