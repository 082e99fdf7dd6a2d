"""E11: labels minted on an address or host that is not global are parsed, and say that they are not."""

from __future__ import annotations

import pytest

import ibi
from ibi import Ibip, Instant, RepositoryName


def test_the_standards_own_label_on_127_0_0_1_is_parsed_and_not_global() -> None:
    label = Ibip.parse("LK47B6W/362SFKH")
    assert label.ip == "127.0.0.1"
    assert not label.is_global


def test_the_other_form_of_that_label_is_global() -> None:
    assert RepositoryName.parse("iconet.com.br/banon/2009/09.09.22.01").is_global


@pytest.mark.parametrize(
    "text",
    [
        "8JMKD3MGP8W/34PGRBS",
        "8JMKD3MGP3W34T/47GAF6S",
        "QABCDSTQQW/46C4U9H",
        "7URMDHLL9SSN2D89MX/34PGRBS",
        "sid.inpe.br/mtc-m18@80/2009/02.16.17.46",
        "urlib.net/www/2014/03.25.23.20",
    ],
)
def test_the_other_labels_of_the_standards_are_global(text: str) -> None:
    assert ibi.parse(text).is_global


@pytest.mark.parametrize("text", ["localhost/ibi.8765/2026/01.01.00.00", "LOCALHOST/IBI.8765/2026/01.01.00.00"])
def test_a_sandbox_label_is_parsed_and_not_global(text: str) -> None:
    label = ibi.parse(text)
    assert isinstance(label, RepositoryName)
    assert (label.host, label.port) == ("ibi.localhost", 8765)
    assert not label.is_global


@pytest.mark.parametrize(
    "ip", ["127.0.0.1", "10.0.0.1", "192.168.1.1", "169.254.1.1", "192.0.2.1", "100.64.0.1", "fd00::1", "fe80::1"]
)
def test_a_label_of_such_an_address_is_written_and_read_back(ip: str) -> None:
    label = Ibip.from_parts(ip, 8765, Instant(1234806360))
    assert ibi.parse(str(label)) == label
    assert label.ip == ip
    assert not label.is_global
