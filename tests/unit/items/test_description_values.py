"""Organisations, funders, related works and places: what is taken, and what is refused with a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ibi.items.model.description_values import Affiliation, Funding, GeoPlace, RelatedIdentifier, RelationKind, Ror
from ibi.items.model.metadata import Agent, DescriptiveMetadata
from ibi.standard.document_errors import InvalidMetadata
from ibi.standard.errors import IbiError

CITES = RelationKind.CITES


@pytest.mark.parametrize("text", ["04xbn6x09", "https://ror.org/04xbn6x09", "ror.org/04XBN6X09/", " 04xbn6x09 "])
def test_a_ror_identifier_is_read_as_people_write_it(text: str) -> None:
    assert Ror(text).url == "https://ror.org/04xbn6x09"


@pytest.mark.parametrize("known", ["036rp1748", "027ka1x80", "042nb2s44", "05rrcem69", "03yrm5c26"])
def test_every_slip_of_one_character_in_a_ror_identifier_is_found(known: str) -> None:
    assert str(Ror(known)) == known
    for place in range(1, len(known)):
        for other in "0123456789abcdefghjkmnpqrstvwxyz":
            if other != known[place]:
                with pytest.raises(InvalidMetadata):
                    Ror(known[:place] + other + known[place + 1 :])


@pytest.mark.parametrize(
    ("scheme", "value"),
    [
        ("url", "javascript:alert(1)"),
        ("url", "JAVASCRIPT://example.org/%0aalert(1)"),
        ("url", "data:text/html,x"),
        ("https", "//example.org"),
        ("http", "javascript:alert(1)"),
    ],
)
def test_what_is_recorded_as_an_address_and_is_none_of_the_web_leads_nowhere(scheme: str, value: str) -> None:
    assert RelatedIdentifier(CITES, scheme, value).url is None


@pytest.mark.parametrize(
    ("scheme", "value", "written", "url"),
    [
        ("doi", "https://doi.org/10.1000/182", "doi:10.1000/182", "https://doi.org/10.1000/182"),
        ("DOI", "10.1000/<1>", "doi:10.1000/<1>", "https://doi.org/10.1000/%3C1%3E"),
        ("url", "https://example.org/a", "https://example.org/a", "https://example.org/a"),
        ("isbn", "978-3-16-148410-0", "isbn:978-3-16-148410-0", None),
        ("ibi", "J8LNKAN8RW/35BFCQ5", "ibi:J8LNKAN8RW/35BFCQ5", None),
        ("ibi", "ibi:sid.inpe.br/mtc-m18/2009/02.16.17.46", "ibi:sid.inpe.br/mtc-m18/2009/02.16.17.46", None),
    ],
)
def test_a_related_work_is_named_as_its_scheme_does(scheme: str, value: str, written: str, url: str | None) -> None:
    related = RelatedIdentifier.parse(CITES, scheme, value)
    assert (str(related), related.url) == (written, url)


@pytest.mark.parametrize(
    "make",
    [
        lambda: RelatedIdentifier.parse(CITES, "doi", "182"),
        lambda: RelatedIdentifier.parse(CITES, "url", "javascript:alert(1)"),
        lambda: RelatedIdentifier.parse(CITES, "ibi", "nonsense"),
        lambda: RelatedIdentifier(CITES, "DOI", "10.1000/182"),
        lambda: RelatedIdentifier(CITES, "doi", "10.1000/ 182"),
        lambda: RelatedIdentifier(CITES, "doi", "x" * 3000),
        lambda: Ror("04xbn6x0"),
        lambda: Ror("x" * 10**6),
        lambda: Affiliation(""),
        lambda: Funding("  "),
        lambda: Funding("FAPESP", url="javascript:alert(1)"),
        lambda: Funding("FAPESP", award="\x00"),
        lambda: GeoPlace(),
        lambda: GeoPlace(""),
        lambda: GeoPlace(box=("-181", "0", "0", "0")),
        lambda: GeoPlace(box=("0", "91", "0", "91")),
        lambda: GeoPlace(box=("0", "10", "0", "-10")),
        lambda: GeoPlace(box=("nan", "0", "0", "0")),
        lambda: GeoPlace(box=("1e2", "0", "0", "0")),
        lambda: GeoPlace(box=("٤", "0", "0", "0")),
        lambda: Agent("Ana", None, None, (Affiliation("INPE"),) * 51),
        lambda: DescriptiveMetadata(places=(GeoPlace("Here"),) * 101),
        lambda: DescriptiveMetadata(funding=(Funding("FAPESP"),) * 101),
        lambda: DescriptiveMetadata(related_identifiers=(RelatedIdentifier(CITES, "doi", "10.1000/1"),) * 1001),
    ],
)
def test_what_cannot_stand_in_a_description_is_refused_with_its_place(make: Callable[[], Any]) -> None:
    with pytest.raises(InvalidMetadata) as refusal:
        make()
    assert refusal.value.details["field"]
    assert len(str(refusal.value)) < 400
    assert isinstance(refusal.value, IbiError)


def test_a_place_is_written_as_dublin_core_has_it() -> None:
    assert str(GeoPlace("Amazônia")) == "Amazônia"
    assert str(GeoPlace(None, ("-45.86", "-23.21", "-45.86", "-23.21"))) == "east=-45.86; north=-23.21"
    box = ("170", "-20", "-170", "-10")  # over the 180th meridian
    assert str(GeoPlace("Fiji", box)) == "name=Fiji; westlimit=170; southlimit=-20; eastlimit=-170; northlimit=-10"
