"""The strict grammars: the standard's own examples pass, and what no generator makes does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ibi
from ibi.check.rules import grammars

PAIRS = [
    ("sid.inpe.br/mtc-m19/2013/09.04.12.27.57", "8JMKD3MGP7W/3EPGUE5"),
    ("sid.inpe.br/mtc-m18@80/2009/07.21.13.23", "8JMKD3MGP8W/35MME4E"),
    ("iconet.com.br/banon/2009/09.09.22.01", "LK47B6W/362SFKH"),
    ("urlib.net/www/2014/03.25.23.20", "J8LNKB5R7W/3G2EKR5"),
]


@pytest.mark.parametrize(("rep", "ibip"), PAIRS)
def test_labels_of_the_standard_have_no_fault(rep: str, ibip: str) -> None:
    assert grammars.fault_of_repository(rep) is grammars.fault_of_date(rep) is None
    assert grammars.fault_of_ibip(ibip) is grammars.fault_of_address(ibip) is grammars.fault_of_seconds(ibip) is None
    assert grammars.instant_of_repository(rep) == grammars.instant_of_ibip(ibip)


@given(st.integers(807_235_200, 253_402_300_799))
def test_seconds_of_an_ibip_are_read_as_the_library_writes_them(seconds: int) -> None:
    label = f"8JMKD3MGP8W/{grammars.write_ibip_suffix(seconds)}"
    assert ibi.parse(label).instant.seconds == seconds
    assert grammars.instant_of_ibip(label) == (seconds, "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a/b/2009/1.2.3.4",
        "lab.br/arq/209/01.02.03.04",
        "lab.br/2009/01.02.03.04",
        "lab.br/arq/2009/01.02.03",
        "-a.br/b/2009/01.02.03.04",
        "lab.br/arq/2009/01.02.03.04 ",
        "a" * 500,
    ],
)
def test_what_is_no_repository_name_is_a_fault(text: str) -> None:
    assert grammars.fault_of_repository(text)


@pytest.mark.parametrize(
    "text",
    [
        "lab.br/arq/2013/02.30.00.00",
        "lab.br/arq/2013/13.01.00.00",
        "lab.br/arq/2013/01.01.24.00",
        "lab.br/arq/2013/01.01.00.00.60",
        "x",
    ],
)
def test_dates_that_do_not_exist_are_faults(text: str) -> None:
    assert grammars.fault_of_date(text)


@pytest.mark.parametrize("text", ["8JMKD3MGP8W/35MML0O", "8JMKD3MGP8W", "8JMKD3MGP8W/3/5", "8JMKD3MGP8V/35MMLL8", "/"])
def test_what_is_no_ibip_is_a_fault(text: str) -> None:
    assert grammars.fault_of_ibip(text)


@pytest.mark.parametrize(
    "text", ["LLLLW/35", "8JMKD3MGP8/35", "8JMKD3MGP8WX/35", "W/35", "8JMKD3MGP8W34J2222/35", "8JMKD3MGP8W2/35"]
)
def test_prefixes_that_are_no_address_with_a_port_are_faults(text: str) -> None:
    assert grammars.fault_of_address(text)


@pytest.mark.parametrize("text", ["LK47B6W/235MMLL8", "LK47B6W/35W", "LK47B6W/3X5", "LK47B6W/333333333"])
def test_suffixes_that_are_no_date_are_faults(text: str) -> None:
    assert grammars.fault_of_seconds(text)


@pytest.mark.parametrize("text", ["2013-10-04T14:32:14Z", "20131004T143214Z", "2013-10-04T14:32:14.5+02:00"])
def test_dates_with_time_of_iso_8601_have_no_fault(text: str) -> None:
    assert grammars.fault_of_timestamp(text) is None


@pytest.mark.parametrize("text", ["2013-10-04", "2013:10.04.14.32.14", "2013-02-30T00:00:00Z", "2013-10-04T14:32:14"])
def test_other_dates_are_faults(text: str) -> None:
    assert grammars.fault_of_timestamp(text)


@pytest.mark.parametrize("text", ["", ".lastedition", ".translation(pt-BR).lastedition.metadata(oai_dc).translation"])
def test_relations_of_the_standard_are_of_the_grammar(text: str) -> None:
    assert grammars.RELATION.fullmatch(text)


@pytest.mark.parametrize(
    "text", [".metadata.lastedition", ".lastedition.lastedition", ".translation(PT)", ".metadata(x)", "."]
)
def test_other_qualifiers_are_not(text: str) -> None:
    assert not grammars.RELATION.fullmatch(text)


def test_long_texts_are_refused_in_time() -> None:
    for text in ("a" * 100_000, "a." * 50_000, "a-" * 50_000 + "/", "8" * 100_000 + "W/3"):
        assert grammars.fault_of_repository(text)
        assert grammars.fault_of_ibip(text) or len(text) < 400
