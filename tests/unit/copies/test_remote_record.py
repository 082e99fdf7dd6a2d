"""Records of items elsewhere, and labels in addresses, as claims need them."""

from __future__ import annotations

import json

import pytest

from ibi.copies.rules.remote_record import is_of_sandbox, label_in, read_record
from ibi.items.model.related_link import ClaimRelation
from ibi.standard.document_errors import InvalidDocument
from ibi.standard.label import parse
from ibi.standard.messages import LabelForms

NAME, OTHER = "a.br/arq/2026/11.16.10.00", "b.br/arq/2009/07.21.13.23"
RECORD = {"labels": {"rep": NAME}, "state": "Original", "language": "pt", "files": [{"path": 1}], "unknown": {}}


def record(**more: object) -> bytes:
    return json.dumps({**RECORD, **more}).encode()


def test_a_record_says_what_it_claims_and_whom_it_names() -> None:
    found = read_record(
        record(
            edition_of={"rep": OTHER},
            translations={"en": {"rep": OTHER}},
            metadata={"title": [{"value": "Uma\ntese"}]},
        )
    )
    other = LabelForms.of(parse(OTHER))
    assert found.claims(ClaimRelation.EDITION_OF, other)
    assert not found.claims(ClaimRelation.DESCRIBES, other)
    assert found.names(ClaimRelation.TRANSLATION_OF, other)
    assert not found.names(ClaimRelation.EDITION_OF, other)
    assert found.title == "Uma tese"
    assert [str(tag) for tag, _ in found.texts()] == ["en", "pt"]


def test_a_deleted_item_and_a_translation_of_metadata_claim_nothing() -> None:
    other = LabelForms.of(parse(OTHER))
    gone = read_record(record(state="Deleted", edition_of={"rep": OTHER}))
    assert not gone.claims(ClaimRelation.EDITION_OF, other)
    translated = read_record(record(describes={"rep": OTHER}, translation_of={"rep": "a.br/arq/2020/01.01.01.01"}))
    assert not translated.claims(ClaimRelation.DESCRIBES, other)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        record(labels={}),
        record(labels={"rep": "x"}),
        record(state="Elsewhere"),
        record(language="???"),
        record(edition_of="x"),
        record(translations=[]),
        record(translations={"en": 1}),
        record(translations={f"x{number}": {"rep": OTHER} for number in range(1000)}),
    ],
)
def test_what_is_not_a_record_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidDocument):
        read_record(body)


@pytest.mark.parametrize(
    ("url", "label"),
    [
        (f"http://urlib.net/{OTHER}", OTHER),
        (f"https://b.example:8443/{OTHER}:", OTHER),
        (f"https://b.example/ibi/{OTHER}", OTHER),
        (f"https://b.example/col/{OTHER}/metadata", OTHER),
        (f"https://b.example/col/{OTHER}/doc/a.pdf", OTHER),
        ("http://urlib.net/8JMKD3MGP8W/34PGRBS", "8JMKD3MGP8W/34PGRBS"),
        ("https://b.example/", None),
        ("https://b.example/col/", None),
        ("https://b.example/items/17", None),
    ],
)
def test_labels_are_found_in_links_and_in_addresses_of_pages(url: str, label: str | None) -> None:
    assert label_in(url) == (None if label is None else parse(label))


def test_labels_of_a_sandbox_are_those_that_are_not_global() -> None:
    assert is_of_sandbox(parse("example.org/b/2026/11.16.10.00"))
    assert is_of_sandbox(parse("localhost/ibi.8765/2026/11.16.10.00"))
    assert is_of_sandbox(parse("LK47B6W47U8/4GQB33M"))
    assert not is_of_sandbox(parse(NAME))
    assert not is_of_sandbox(parse("8JMKD3MGP8W/34PGRBS"))
