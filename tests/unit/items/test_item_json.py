"""The records of an item as they lie on the disk."""

from __future__ import annotations

import json

import pytest

from ibi.items.model.description_values import Alternate
from ibi.items.model.item_json import decode_item, encode_item, encode_local, item_document
from ibi.items.model.metadata import Agent, DescriptiveMetadata, Licence, Orcid, ResourceType, Text
from ibi.items.model.visibility import Visibility
from ibi.standard.document_errors import InvalidDocument, NewerDocument
from ibi.standard.instant import Instant
from ibi.standard.languages import LanguageTag
from ibi.standard.messages import State
from ibi.standard.networks import network
from tests.support.flat_items import replace
from tests.support.standards_archives import forms, item

ITEM = replace(
    item("Lab.br/Arq/2020/01.02.03.04", at="2020-01-02T03:04:05Z", files=("a.pdf",)),
    language=LanguageTag("pt", "BR"),
    metadata=DescriptiveMetadata(
        title=(Text("Um título", LanguageTag("pt")),),
        creator=(Agent("Banon, Gerald", Orcid("0000-0002-1825-0097")),),
        licence=Licence("CC-BY-4.0"),
        resource_type=ResourceType.TEXT,
    ),
    visibility=Visibility((network("150.163.0.0/16"),), Instant.parse("2030-01-01T00:00:00Z"), listing=False),
    translations=((LanguageTag("en"), forms("lab.br/arq/2020/01.02.03.05")),),
    state=State.COPY,
    source="a.br",
)


def test_the_record_is_what_a_person_expects_to_read() -> None:
    assert item_document(ITEM) == {
        "schema": 1,
        "labels": {"rep": "Lab.br/Arq/2020/01.02.03.04"},
        "version": 1,
        "created": "2020-01-02T03:04:05Z",
        "updated": "2020-01-02T03:04:05Z",
        "language": "pt-BR",
        "metadata": {
            "creator": [{"name": "Banon, Gerald", "orcid": "0000-0002-1825-0097"}],
            "title": [{"value": "Um título", "language": "pt"}],
            "licence": "CC-BY-4.0",
            "resource_type": "Text",
        },
        "files": [{"path": "a.pdf", "size": 1, "sha512": "0" * 128, "media_type": "application/octet-stream"}],
        "target": "a.pdf",
        "visibility": {"networks": ["150.163.0.0/16"], "embargo": "2030-01-01T00:00:00Z", "listing": False},
        "translations": {"en": {"rep": "lab.br/arq/2020/01.02.03.05"}},
    }
    assert json.loads(encode_local(ITEM)) == {"schema": 1, "state": "Copy", "transferable": True, "source": "a.br"}


def test_two_copies_have_the_same_item_json() -> None:
    assert encode_item(ITEM) == encode_item(replace(ITEM, state=State.ORIGINAL, source=None, owner="ana"))


def test_letters_are_written_as_they_are() -> None:
    assert "Um título".encode() in encode_item(ITEM)


@pytest.mark.parametrize("which", [0, 1])
def test_a_record_that_requires_a_newer_schema_is_refused_whole(which: int) -> None:
    records = [encode_item(ITEM), encode_local(ITEM)]
    records[which] = records[which].replace(b'"schema": 1', b'"schema": 4,"requires_schema": 4')
    with pytest.raises(NewerDocument, match="schema 4"):
        decode_item(*records)


def test_a_record_has_the_number_of_the_first_schema_that_knows_all_of_it() -> None:
    file = replace(ITEM.files[0], crc32="00c0ffee")
    recent = [
        replace(ITEM, alternates=(Alternate("doi", "10.1000/182"),)),
        replace(ITEM, files=(file,)),
        replace(ITEM, visibility=replace(ITEM.visibility, embargo_reason="A patent is pending.")),
    ]
    assert [item_document(each)["schema"] for each in (ITEM, *recent)] == [1, 2, 2, 2]
    assert [json.loads(encode_local(each))["schema"] for each in (ITEM, replace(ITEM, owner="ana"))] == [1, 2]
    for each in (*recent, replace(ITEM, owner="ana")):
        assert decode_item(encode_item(each), encode_local(each)) == each


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"schema": 1', b'"schema": 0'),
        (b'"schema": 1', b'"schema": "1"'),
        (b'"schema": 1', b'"schema": true'),
        (b'"schema": 1,', b""),
        (b'"version": 1', b'"version": 1.0'),
        (b'"version": 1', b'"version": NaN'),
        (b'"version": 1', b'"version": 1, "version": 1'),
        (b'"size": 1', b'"size": -1'),
        (b'"a.pdf"', b'"../a.pdf"'),
        (b'"target": "a.pdf"', b'"target": "b.pdf"'),
        (b"0097", b"0098"),
        (b'"created": "2020', b'"created": "2021'),
        (b'"Text"', b'"text"'),
        (b'"rep": "Lab.br', b'"name": "Lab.br'),
        (b'{"', b'{"x": ' + b"[" * 100_000),
        (b"Um t", b"\xff"),
        (b"Um t", b"\\ud800"),
    ],
)
def test_a_record_that_is_wrong_is_refused_and_the_place_named(old: bytes, new: bytes) -> None:
    record = encode_item(ITEM).replace(b"{\n", b"{", 1).replace(b'{ "', b'{"', 1)
    assert old in record
    with pytest.raises(InvalidDocument) as refusal:
        decode_item(record.replace(old, new, 1), encode_local(ITEM))
    assert len(str(refusal.value)) < 500
