"""The record of a draft: what is written is what is read."""

from __future__ import annotations

import json

import pytest

from ibi.deposits.model import DraftRecord, Publication, RefusedValue, decode_draft, encode_draft
from ibi.items.model.file import File
from ibi.items.model.item import Description, Draft
from ibi.items.model.metadata import Agent, DescriptiveMetadata, Text
from ibi.items.model.visibility import Visibility
from ibi.standard.document_errors import InvalidDocument, InvalidFileName, InvalidItem
from ibi.standard.instant import Instant
from ibi.standard.languages import LanguageTag
from ibi.standard.messages import LabelForms
from ibi.standard.networks import network
from tests.support.deposit_samples import labels

NOW = Instant.parse("2026-11-20T10:00:00Z")
FULL = DraftRecord(
    id="draft-aaaaaaaaaaaaaaaa",
    owner="service:Ana Ávila",
    created=NOW,
    description=Description(
        metadata=DescriptiveMetadata(title=(Text("Uma tese", LanguageTag("pt")),), creator=(Agent("Ana"),)),
        language=LanguageTag("pt", "BR"),
        target="a.txt",
        edition_of=labels(1),
        translation_of=LabelForms(labels(2).rep),
        describes=labels(6),
        visibility=Visibility((network("10.0.0.0/8"),), NOW, listing=False),
    ),
    labels=labels(3),
    base=4,
    kept=(File("a.txt", 3, "0" * 128, "text/plain"),),
    reserved=labels(5),
    publication=Publication(labels(5), 1, ("gone.txt",)),
    refused={"date": RefusedValue("31/02/2026", "invalid-metadata")},
)
PLAIN = DraftRecord(
    id="draft-aaaaaaaaaaaaaaaa", owner="token:x", created=NOW, description=Description(target_url="http://x.br/")
)


@pytest.mark.parametrize("record", [FULL, PLAIN])
def test_what_is_read_is_what_was_written(record: DraftRecord) -> None:
    assert decode_draft(encode_draft(record)) == record


@pytest.mark.parametrize("name", json.loads(encode_draft(FULL)))
def test_a_member_that_is_wrong_is_refused(name: str) -> None:
    document = json.loads(encode_draft(FULL))
    for value in ([1], {"x": 1}, -1.5):
        with pytest.raises(InvalidDocument):
            decode_draft(json.dumps({**document, name: value}).encode())


def test_what_a_newer_version_has_written_is_refused() -> None:
    document = json.loads(encode_draft(PLAIN))
    for changed in ({**document, "schema": 2}, {**document, "colour": "red"}):
        with pytest.raises(InvalidDocument):
            decode_draft(json.dumps(changed).encode())


def test_a_draft_of_an_earlier_version_belongs_to_the_service_account_of_the_name() -> None:
    document = {**json.loads(encode_draft(PLAIN)), "owner": "name:ana:b"}
    assert decode_draft(json.dumps(document).encode()).owner == "service:ana:b"


def test_a_description_is_in_order_whatever_is_missing() -> None:
    assert Description(target="later.txt").target == "later.txt"
    with pytest.raises(InvalidFileName):
        Description(target="../x")
    with pytest.raises(InvalidItem):
        Description(target_url="ftp://x")
    with pytest.raises(InvalidItem):
        Draft(description=Description(target="later.txt"))
