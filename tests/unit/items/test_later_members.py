"""Members of a later version: kept byte for byte with everything that is done to an item."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from ibi.items.model.description_values import Alternate
from ibi.items.model.file import without_files
from ibi.items.model.item import Item, Tombstone
from ibi.items.model.item_json import decode_item, encode_item, encode_local, item_document, local_document
from ibi.items.model.metadata import Agent, DescriptiveMetadata, Text
from ibi.items.model.visibility import Visibility
from ibi.standard.instant import Instant
from ibi.standard.languages import LanguageTag
from ibi.standard.messages import State
from ibi.standard.networks import network
from tests.support.flat_items import replace
from tests.support.standards_archives import forms, item

ODD = b'{"n":1.10,"big":123456789012345678901234567890,"far":1e400,"t":"\\u00e9\\/","list":[1,[],{}]}'
ITEM = replace(
    item("lab.br/arq/2020/01.02.03.04", at="2020-01-02T03:04:05Z", files=("a.pdf", "b.pdf")),
    language=LanguageTag("pt"),
    metadata=DescriptiveMetadata(title=(Text("Um"), Text("Um"), Text("Dois")), creator=(Agent("Ana"),)),
    visibility=Visibility((network("150.163.0.0/16"),)),
    alternates=(Alternate("doi", "10.1000/182"),),
    edition_of=forms("lab.br/arq/2019/01.01.00.00"),
    translations=((LanguageTag("en"), forms("lab.br/arq/2020/01.02.03.05")),),
    state=State.DELETED,
    files=(),
    target=None,
    tombstone=Tombstone(Instant.parse("2020-01-02T03:04:05Z"), "x", forms("lab.br/arq/2021/01.01.00.00")),
)
LIVING = replace(
    item("lab.br/arq/2020/01.02.03.04", at="2020-01-02T03:04:05Z", files=("a.pdf", "b.pdf")),
    metadata=ITEM.metadata,
    translations=ITEM.translations,
    language=ITEM.language,
    edition_of=ITEM.edition_of,
)


def with_odd(document: Any, number: list[int]) -> Any:
    """The document with one more member in each of its objects, no two alike."""
    if isinstance(document, list):
        return [with_odd(each, number) for each in document]
    if not isinstance(document, dict):
        return document
    number[0] += 1
    name = f"later{number[0]}"
    known = {key: with_odd(value, number) for key, value in document.items()}
    if set(document) == {str(tag) for tag, _ in ITEM.translations}:
        return known  # a table of languages, each of which is known
    return known | {name: msgspec.Raw(ODD)}


def spoilt(item: Item) -> tuple[bytes, bytes]:
    """Its records as a later version might write them."""
    documents = item_document(item) | {"schema": 3}, local_document(item) | {"schema": 4}
    one, other = (msgspec.json.format(msgspec.json.encode(with_odd(each, [0])), indent=1) + b"\n" for each in documents)
    return one, other


@pytest.mark.parametrize("known", [ITEM, LIVING])
def test_all_members_of_a_later_version_are_written_again_as_they_were(known: Item) -> None:
    records = spoilt(known)
    read = decode_item(*records)
    assert read == known
    assert (encode_item(read), encode_local(read)) == records
    assert decode_item(encode_item(read), encode_local(read)).later == read.later


def test_members_of_a_later_version_stay_where_something_else_changes() -> None:
    read = decode_item(*spoilt(LIVING))
    metadata = replace(read.metadata, title=(Text("Dois"), Text("Novo")), subject=(Text("x"),))
    changed = replace(read, metadata=metadata, next_edition=forms("lab.br/arq/2022/01.01.00.00"), version=2)
    before, after = json.loads(encode_item(read)), json.loads(encode_item(changed))
    assert after["metadata"]["title"][0] == before["metadata"]["title"][2]
    assert set(after["metadata"]["title"][1]) == {"value"}, "what was said of a title that is gone, goes"
    assert after["metadata"]["creator"] == before["metadata"]["creator"]
    for name in ("labels", "files", "edition_of", "translations"):
        assert after[name] == before[name]
    assert [name for name in after if name.startswith("later")] == ["later1"]
    assert after["schema"] == 3


def test_what_was_said_of_bytes_goes_with_them() -> None:
    read = decode_item(*spoilt(LIVING))
    a, b = read.files
    files = json.loads(encode_item(replace(read, files=(replace(a, sha512="1" * 128), b))))["files"]
    assert [any(name.startswith("later") for name in file) for file in files] == [False, True]


def test_members_of_a_later_version_stay_in_an_object_of_which_nothing_else_is_left() -> None:
    records = spoilt(ITEM)
    read = replace(decode_item(*records), visibility=Visibility.PUBLIC)
    before, after = json.loads(records[0])["visibility"], json.loads(encode_item(read))["visibility"]
    assert after == {name: value for name, value in before.items() if name != "networks"}


def test_a_later_schema_without_anything_unknown_keeps_its_number() -> None:
    record = encode_item(LIVING).replace(b'"schema": 1', b'"schema": 7')
    assert encode_item(decode_item(record, encode_local(LIVING))) == record


def test_followers_of_earlier_versions_are_kept_and_not_looked_at() -> None:
    local = encode_local(LIVING).replace(b"\n}", b',\n "followers": [\n  "b.br:8080"\n ]\n}')
    assert encode_local(decode_item(encode_item(LIVING), local)) == local


def test_files_that_are_read_on_demand_may_have_members_of_a_later_version() -> None:
    shared, local = spoilt(LIVING)
    rest, files = without_files(shared)
    assert files is not None
    assert tuple(files) == LIVING.files
    assert decode_item(rest, local, files=files) == LIVING
