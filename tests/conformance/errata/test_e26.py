"""E26: `url.persistent` with `:80`, or with an Archive's host: any is read, and written as the resolver gives it."""

from __future__ import annotations

import pytest

from ibi.standard.messages import Acknowledgment

QUERY = (
    "clientinformation.ipaddress=150.163.2.175&contenttype=Data&servicesubject=acknowledgment&state=Copy&"
    "url=http://host/x&url.persistent={}&urlkey=1424636122"
)


@pytest.mark.parametrize(
    "url",
    [
        "http://urlib.net/8JMKD3MGP7W/3EPGUE5",
        "http://urlib.net:80/8JMKD3MGP7W/3EPGUE5!:(oai_dc)",
        "http://mtc-m16d.sid.inpe.br:80/8JMKD3MGP7W/3EPGUE5",
        "https://resolver.example:8443/iconet.com.br/banon/2009/09.09.22.01",
    ],
)
def test_any_host_and_port_are_read_and_written_back(url: str) -> None:
    acknowledgment = Acknowledgment.from_query(QUERY.format(url))
    assert acknowledgment.persistent_url == url
    assert acknowledgment.to_query() == QUERY.format(url)


def test_a_modifier_and_a_query_survive_the_journey() -> None:
    written = "http://urlib.net:80/LK47B6W/362SFKH%2B(pt-BR)%3Fibiurl.verblist%3DGetMetadata"
    acknowledgment = Acknowledgment.from_query(QUERY.format(written))
    assert acknowledgment.persistent_url == "http://urlib.net:80/LK47B6W/362SFKH+(pt-BR)?ibiurl.verblist=GetMetadata"
    assert acknowledgment.to_query() == QUERY.format(written)
