"""The types of items: how descriptions say them, and how other formats name them."""

from __future__ import annotations

import pytest

from ibi.items.model.item_types import (
    UNTYPED,
    ItemType,
    ReadFrom,
    coar_type_of,
    coar_types,
    find_coar_type,
    find_type_of_format,
    item_types,
    type_names_of,
    with_coar_type,
)
from ibi.items.model.metadata import DescriptiveMetadata, ResourceType, Text


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


def test_every_dcmi_type_begins_a_group_whether_coar_has_it_or_not() -> None:
    assert {each.kind for each in item_types() if each.depth == 0} == set(ResourceType)
    lacking = {each.kind for each in item_types() if not each.code}
    assert lacking == {ResourceType.EVENT, ResourceType.PHYSICAL_OBJECT, ResourceType.SERVICE}
    assert lacking.isdisjoint(each.kind for each in coar_types())


@pytest.mark.parametrize("source", ReadFrom)
def test_a_name_of_a_format_stands_for_one_type(source: ReadFrom) -> None:
    column = list(ReadFrom).index(source)
    names = [name for each in item_types() for name in each.reads[column].split()]
    assert len(names) == len(set(names)) > 20
    assert all(name in each.reads[column].split() for name in names if (each := find_type_of_format(source, name)))
    assert find_type_of_format(source, "") is None
    assert find_type_of_format(source, "-") is None


@pytest.mark.parametrize(
    ("source", "name", "code"),
    [
        (ReadFrom.BIBTEX, "phdthesis", "c_db06"),
        (ReadFrom.BIBTEX, "techreport", "c_18gh"),
        (ReadFrom.RIS, "THES", "c_46ec"),
        (ReadFrom.RIS, "AGGR", "ACF7-8YT9"),
        (ReadFrom.CSL, "proceedings-article", "c_5794"),
        (ReadFrom.CSL, "motion_picture", "c_8a7e"),
        (ReadFrom.DATACITE, "Dissertation", "c_46ec"),
    ],
)
def test_a_type_is_found_by_its_name_in_a_format(source: ReadFrom, name: str, code: str) -> None:
    found = find_type_of_format(source, name)
    assert found is not None
    assert found.code == code


def test_datacite_has_names_for_types_that_coar_lacks() -> None:
    found = find_type_of_format(ReadFrom.DATACITE, "PhysicalObject")
    assert found is not None
    assert (found.code, found.kind) == ("", ResourceType.PHYSICAL_OBJECT)


@pytest.mark.parametrize("source", [ReadFrom.RIS, ReadFrom.CSL])
def test_types_are_read_under_the_names_by_which_they_are_written(source: ReadFrom) -> None:
    for each in item_types():
        written = each.names.ris if source is ReadFrom.RIS else each.names.csl
        assert written in {"GEN", "document"} or find_type_of_format(source, written) is not None


def test_a_word_in_a_type_decides_before_the_dcmi_type() -> None:
    notes = Text("Notas de aula")
    thesis = type_names_of(DescriptiveMetadata(type=(notes, Text("Tese de livre-docência"))))
    assert thesis == ("thesis", "Thesis", "phdthesis", "THES")
    assert type_names_of(DescriptiveMetadata(type=(notes,), resource_type=ResourceType.SOUND)).ris == "SOUND"
    assert type_names_of(DescriptiveMetadata(type=(notes,))) == UNTYPED == type_names_of(DescriptiveMetadata())


@pytest.mark.parametrize("each", coar_types(), ids=lambda each: each.en)
def test_a_type_has_the_same_names_in_whichever_language_it_is_said(each: ItemType) -> None:
    said = {label for label in (each.en, each.pt, each.es) if find_coar_type(label) == each}
    for label in said:
        assert (
            type_names_of(DescriptiveMetadata(type=(Text(label.capitalize()),), resource_type=each.kind)) == each.names
        )
    assert type_names_of(with_coar_type(DescriptiveMetadata(), each)) == each.names


def test_a_type_that_citations_do_not_distinguish_leaves_the_decision_to_the_next() -> None:
    preprint, article = Text("preprint"), Text("Artigo aceito")
    assert type_names_of(DescriptiveMetadata(type=(preprint, article))).ris == "JOUR"
    assert type_names_of(DescriptiveMetadata(type=(preprint,), resource_type=ResourceType.SOUND)).ris == "SOUND"
    assert type_names_of(DescriptiveMetadata(type=(Text("book review"), preprint))).schema_org == "Review"
    assert type_names_of(DescriptiveMetadata(resource_type=ResourceType.EVENT)).schema_org == "Event"
