"""Names in other systems, in every format of citations."""

from __future__ import annotations

import pytest

from ibi.citation.rules.exchange_formats import bibtex, csl_json, ris
from ibi.citation.rules.page_metadata import highwire, json_ld
from ibi.citation.rules.work import (
    MOST_IDENTIFIERS,
    IdentifierScheme,
    OtherIdentifier,
    identifiers_of,
    read_identifier,
)
from ibi.items.model.description_values import Alternate
from ibi.items.model.metadata import DescriptiveMetadata, Text
from ibi.standard.instant import Instant
from tests.support.flat_items import new_item, replace
from tests.unit.citation.reading import read_bibtex, read_ris
from tests.unit.citation.works import LABELS, URL, cited

DOI, ARK, HANDLE = "10.1590/S0102-261X2009000100001", "ark:/12148/btv1b8449691v/f29", "1822/1234"
NAMED = cited(identifier=(f"https://doi.org/{DOI}", ARK, f"hdl:{HANDLE}", "ISBN 978-85-17-00000-0", DOI))


@pytest.mark.parametrize(
    ("text", "scheme", "value"),
    [
        (DOI, IdentifierScheme.DOI, DOI),
        (f"doi:{DOI}", IdentifierScheme.DOI, DOI),
        (f"DOI: {DOI}", IdentifierScheme.DOI, DOI),
        (f"http://dx.doi.org/{DOI}", IdentifierScheme.DOI, DOI),
        ("https://doi.org/10.1002/%28SICI%291097", IdentifierScheme.DOI, "10.1002/(SICI)1097"),
        (ARK, IdentifierScheme.ARK, ARK),
        ("ark:12148/btv1b8449691v", IdentifierScheme.ARK, "ark:/12148/btv1b8449691v"),
        (f"https://gallica.bnf.fr/{ARK}", IdentifierScheme.ARK, ARK),
        (f"hdl:{HANDLE}", IdentifierScheme.HANDLE, HANDLE),
        (f"https://hdl.handle.net/{HANDLE}", IdentifierScheme.HANDLE, HANDLE),
    ],
)
def test_an_identifier_is_known_however_it_is_written(text: str, scheme: IdentifierScheme, value: str) -> None:
    assert read_identifier(f" {text} ") == OtherIdentifier(scheme, value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "978-85-17-00000-0",
        "1822/1234",
        "10.1590",
        "10.1590/",
        "see 10.1590/x",
        f"{DOI} and more",
        "10.1590/a\u202eb",
        "https://example.org/10.1590/x",
        f"10.1590/{'x' * 400}",
        "https://doi.org/10.1590/%0Ax",
    ],
)
def test_other_texts_are_no_identifier(text: str) -> None:
    assert read_identifier(text) is None


def test_bibtex_has_a_doi_and_names_the_others() -> None:
    _, _, fields = read_bibtex(bibtex(NAMED))
    assert fields["doi"] == DOI
    assert fields["note"] == f"IBI: 8JMKD3MGP8W/34PGRBS; ARK: {ARK}; Handle: {HANDLE}"


def test_ris_has_a_doi_and_links_to_the_others() -> None:
    lines = read_ris(ris(NAMED))
    assert [value for tag, value in lines if tag == "DO"] == [DOI]
    links = [URL, f"https://n2t.net/{ARK}", f"https://hdl.handle.net/{HANDLE}"]
    assert [value for tag, value in lines if tag == "UR"] == links


def test_csl_json_has_a_doi_and_names_the_others() -> None:
    item = csl_json(NAMED)
    assert (item["DOI"], item["note"]) == (DOI, f"ARK: {ARK}\nHandle: {HANDLE}")
    assert not {"DOI", "note"} & set(csl_json(cited()))


def test_schema_org_has_all_of_them() -> None:
    described = json_ld(NAMED)
    assert [(each["propertyID"], each["value"]) for each in described["identifier"]] == [
        ("IBI", "8JMKD3MGP8W/34PGRBS"),
        ("DOI", DOI),
        ("ARK", ARK),
        ("Handle", HANDLE),
    ]
    assert described["sameAs"][0] == f"https://doi.org/{DOI}"
    assert "sameAs" not in json_ld(cited())


def test_indexes_get_the_doi() -> None:
    assert ("citation_doi", DOI) in highwire(NAMED)


def test_names_by_which_an_item_resolves_are_cited_too_and_each_once() -> None:
    now = Instant(1_700_000_000)
    item = new_item(
        labels=LABELS,
        created=now,
        updated=now,
        metadata=DescriptiveMetadata(identifier=(Text(f"doi:{DOI}"), Text(f"hdl:{HANDLE}"))),
        alternates=(Alternate("ark", "12148/btv1b8449691v"), Alternate("doi", DOI), Alternate("ibi", "83LX3pF/Bkjzd")),
    )
    assert [str(each.value) for each in identifiers_of(item)] == ["ark:/12148/btv1b8449691v", DOI, HANDLE]
    many = DescriptiveMetadata(identifier=tuple(Text(f"10.1000/{number}") for number in range(100)))
    assert len(identifiers_of(replace(item, metadata=many))) == MOST_IDENTIFIERS
