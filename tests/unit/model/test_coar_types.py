"""COAR Resource Types, and how descriptions say them."""

from __future__ import annotations

import pytest

from ibi.model.coar_types import coar_type_of, coar_types, find_coar_type, with_coar_type
from ibi.model.metadata import DescriptiveMetadata, ResourceType, Text


def test_every_type_has_an_address_and_a_label_in_three_languages() -> None:
    assert len({each.code for each in coar_types()}) == len(coar_types()) > 70
    for each in coar_types():
        assert each.uri == f"http://purl.org/coar/resource_type/{each.code}"
        assert all(label.strip() == label != "" for label in (each.en, each.pt, each.es))
        assert 0 <= each.depth <= 3
    assert len({each.en for each in coar_types()}) == len(coar_types())


@pytest.mark.parametrize(
    "text",
    [
        "c_db06",
        "http://purl.org/coar/resource_type/c_db06",
        "https://purl.org/coar/resource_type/C_DB06/",
        "Doctoral  thesis",
        "tese de doutorado",
        "TESIS DOCTORAL",
    ],
)
def test_a_type_is_found_by_its_address_code_and_labels(text: str) -> None:
    found = find_coar_type(text)
    assert found is not None
    assert (found.code, found.label("pt-BR"), found.label("fr")) == ("c_db06", "tese de doutorado", "doctoral thesis")


@pytest.mark.parametrize("text", ["", "thesis of mine", "x" * 10**6, "http://purl.org/coar/resource_type/"])
def test_other_words_are_no_type(text: str) -> None:
    assert find_coar_type(text) is None


def test_a_chosen_type_is_written_in_words_that_every_version_reads_and_is_found_again() -> None:
    for each in coar_types():
        metadata = with_coar_type(DescriptiveMetadata(type=(Text("Notes of mine"), Text("book"))), each)
        assert metadata.resource_type is each.kind
        assert metadata.type[-1] == Text("Notes of mine")
        assert coar_type_of(metadata) == each
        assert coar_type_of(metadata.with_kind()) == each


def test_without_a_type_the_kinds_that_coar_has_not_stay() -> None:
    for kind, left in ((ResourceType.SERVICE, ResourceType.SERVICE), (ResourceType.TEXT, None)):
        metadata = DescriptiveMetadata(type=(Text("thesis"), Text("Rede")), resource_type=kind)
        assert with_coar_type(metadata, None) == DescriptiveMetadata(type=(Text("Rede"),), resource_type=left)
