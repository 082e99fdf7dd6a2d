"""The records of an item: what is read is what was written, and nothing else is read."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ibi.items.model.file import without_files
from ibi.items.model.item import Item
from ibi.items.model.item_json import (
    decode_item,
    decode_names,
    encode_item,
    encode_local,
    item_document,
    local_document,
)
from ibi.standard.document_errors import InvalidDocument
from tests.properties.item_strategies import items
from tests.support.archive_catalog import names_of_item

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(items())
def test_every_item_comes_back_from_its_records(item: Item) -> None:
    again = decode_item(encode_item(item), encode_local(item))
    assert again == item
    assert (encode_item(again), encode_local(again)) == (encode_item(item), encode_local(item))
    assert again.rep.spelling == item.rep.spelling


@given(items())
def test_the_names_in_a_record_are_those_of_the_item(item: Item) -> None:
    assert decode_names(encode_item(item)) == names_of_item(item)


@given(items())
def test_an_item_whose_files_are_read_later_is_the_same_item(item: Item) -> None:
    rest, files = without_files(encode_item(item))
    again = decode_item(rest, encode_local(item), files=files)
    assert again == item
    assert encode_item(again) == encode_item(item)


def places(document: object) -> list[tuple[Any, Any]]:
    """Every (container, key) in a document."""
    if isinstance(document, dict):
        return [pair for key, inner in document.items() for pair in [(document, key), *places(inner)]]
    if isinstance(document, list):
        return [pair for index, inner in enumerate(document) for pair in [(document, index), *places(inner)]]
    return []


@given(items(), st.data())
def test_a_record_that_was_changed_by_hand_is_read_as_an_item_or_refused(item: Item, data: st.DataObject) -> None:
    documents = [json.loads(json.dumps(item_document(item))), json.loads(json.dumps(local_document(item)))]
    container, key = data.draw(st.sampled_from(places(documents)).filter(lambda place: place[0] is not documents))
    container[key] = data.draw(json_values)
    encoded = [json.dumps(document).encode("utf-8", "surrogatepass") for document in documents]
    try:
        item = decode_item(*encoded)
        assert decode_names(encoded[0]) == names_of_item(item)
    except InvalidDocument as error:
        str(error).encode()


@given(items(), st.data())
def test_a_member_that_is_not_known_is_kept_wherever_it_is(item: Item, data: st.DataObject) -> None:
    documents = [json.loads(json.dumps(item_document(item))), json.loads(json.dumps(local_document(item)))]
    objects = [*documents, *(c[k] for c, k in places(documents) if isinstance(c[k], dict))]
    data.draw(st.sampled_from(objects))["surprise"] = 1
    try:
        again = decode_item(*(json.dumps(document).encode() for document in documents))
    except InvalidDocument:
        return  # where names are values: the forms of a label, the languages of translations
    assert [json.loads(encode_item(again)), json.loads(encode_local(again))] == documents
    assert decode_names(json.dumps(documents[0]).encode()) == names_of_item(again)


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(one: bytes, other: bytes) -> None:
    with suppress(InvalidDocument):
        decode_names(one)
    try:
        decode_item(one, other)
    except InvalidDocument as error:
        str(error).encode()
