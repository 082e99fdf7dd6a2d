"""The description of an item from flags and from a file, and that it is the one that comes over HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from ibi.deposits.cli.item_options import described, item_options
from ibi.deposits.cli.metadata_file import InvalidMetadataFile
from ibi.items.model.item import Draft
from ibi.items.model.metadata import Agent, DescriptiveMetadata, Orcid, ResourceType, Text
from ibi.items.model.visibility import Visibility
from ibi.standard.languages import LanguageTag
from ibi.web.record_requests import parse_description
from tests.support.flat_items import new_draft

BEFORE = new_draft(
    metadata=DescriptiveMetadata(title=(Text("Before"),), subject=(Text("kept"),), type=(Text("Report"),)),
    language=LanguageTag("pt"),
)


def draft_of(*flags: str, before: Draft | None = None) -> Draft:
    found: list[Draft] = []

    @click.command()
    @item_options
    def command(**given: Any) -> None:
        found.append(described(before or Draft(), given))

    result = CliRunner().invoke(command, flags, standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return found[0]


def over_http(**metadata: object) -> DescriptiveMetadata:
    return parse_description({"metadata": metadata}).metadata


@pytest.mark.parametrize(
    ("types", "kind", "rest"),
    [
        (["Dataset"], ResourceType.DATASET, ()),
        (["dataset"], ResourceType.DATASET, ()),
        (["Moving Image"], ResourceType.MOVING_IMAGE, ()),
        (["Thesis"], None, ("Thesis",)),
        (["Thesis", "Text"], ResourceType.TEXT, ("Thesis",)),
        (["Text", "Dataset", "text"], ResourceType.TEXT, ("Dataset",)),
    ],
)
def test_a_type_makes_one_kind_of_record_whichever_way_it_came(
    tmp_path: Path, types: list[str], kind: ResourceType | None, rest: tuple[str, ...]
) -> None:
    file = tmp_path / "about.json"
    file.write_text(json.dumps({"type": types}))
    expected = DescriptiveMetadata(resource_type=kind, type=tuple(map(Text, rest)))
    by_flags = draft_of(*(word for name in types for word in ("--type", name))).metadata
    assert [by_flags, over_http(type=types), draft_of("--metadata", str(file)).metadata] == [expected] * 3


def test_a_resource_type_that_is_said_is_not_said_twice() -> None:
    assert over_http(type=["Dataset", "Text"], resource_type="Dataset") == DescriptiveMetadata(
        resource_type=ResourceType.DATASET, type=(Text("Text"),)
    )


@pytest.mark.parametrize(
    "element", ["title", "description", "subject", "date", "publisher", "identifier", "source", "relation", "coverage"]
)
def test_every_element_has_a_flag(element: str) -> None:
    assert draft_of(f"--{element}", "2020", f"--{element}", "2021").metadata == over_http(**{element: ["2020", "2021"]})


@pytest.mark.parametrize("element", ["format", "rights"])
def test_format_and_rights_have_a_flag(element: str) -> None:
    assert draft_of(f"--{element}", "text/plain").metadata == over_http(**{element: "text/plain"})


def test_contributors_are_written_as_creators_are() -> None:
    metadata = draft_of("--contributor", "Ana Ávila <0000-0002-1825-0097>", "--contributor", "INPE").metadata
    assert metadata.contributor == (Agent("Ana Ávila", Orcid("0000-0002-1825-0097")), Agent("INPE"))


def test_a_file_describes_an_item_as_a_request_does_and_flags_outrank_it(tmp_path: Path) -> None:
    said = {
        "metadata": {"title": "From the file", "creator": [{"name": "Ana"}], "licence": "CC-BY-4.0", "subject": []},
        "language": "en",
        "visibility": {"listing": False},
    }
    file = tmp_path / "about.json"
    file.write_text(json.dumps(said))
    draft = draft_of("--metadata", str(file), "--creator", "Bob", before=BEFORE)
    assert draft.metadata.titles() == ("From the file",)
    assert (draft.metadata.creator, draft.metadata.subject) == ((Agent("Bob"),), ())
    assert draft.metadata.type == BEFORE.metadata.type  # what neither says stays
    assert (draft.language, draft.visibility) == (LanguageTag("en"), Visibility(listing=False))


def test_elements_alone_are_a_description_too(tmp_path: Path) -> None:
    file = tmp_path / "about.json"
    file.write_text('{"title": "Alone", "language": "eng", "type": null}')
    draft = draft_of("--metadata", str(file), before=BEFORE)
    assert draft.metadata == DescriptiveMetadata(
        title=(Text("Alone"),), language=(Text("eng"),), subject=(Text("kept"),), type=()
    )
    assert draft.language == LanguageTag("pt")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "about.json"),
        ("[]", "not a JSON object"),
        ("{", "about.json"),
        ('{"metadata": []}', "metadata"),
        ('{"metadata": {"titel": "x"}}', "titel"),
        ('{"title": ""}', "empty"),
        ('{"title": "x", "titel": "y"}', "titel"),
        ('{"metadata": {}, "target": "a.pdf"}', "--target"),
        ('{"metadata": {}, "edition_of": "lab.br/arq/2020/01.01.00.00"}', "--edition-of"),
        ('{"language": "xx"}', "language"),
        ('{"a": 1, "a": 2}', "about.json"),
        (" " * (1 << 20) + "{}", "1048576 bytes"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_by_name(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "about.json"
    file.write_text(text)
    with pytest.raises(InvalidMetadataFile) as caught:
        draft_of("--metadata", str(file))
    assert reason in str(caught.value)
    assert str(caught.value).startswith(str(file))


def test_a_file_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InvalidMetadataFile, match=r"nothing\.json: it cannot be read: No such file"):
        draft_of("--metadata", str(tmp_path / "nothing.json"))


RECORD = r"@article{x, title={On naming things}, author={{\'A}vila, Jo{\~a}o}, year=2020, language={english}, note={-}}"


def test_a_record_of_another_system_describes_an_item(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "about.bib"
    file.write_text(RECORD)
    draft = draft_of("--from", str(file), "--date", "2021", before=BEFORE)
    assert draft.metadata.titles() == ("On naming things",)
    assert draft.metadata.creator == (Agent("Ávila, João"),)
    assert draft.metadata.date == (Text("2021"),), "other flags outrank it"
    assert draft.metadata.type == (Text("journal article"),)
    assert draft.metadata.subject == (Text("kept"),), "what it does not say stays"
    assert str(draft.language) == "en"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"hello", "neither BibTeX nor RIS nor JSON"),
        (b"@book{a, title={A}} @book{b, title={B}}", "it has 2 records"),
        (b"\xff", "not text in UTF-8"),
        (b"x" * 5_000_000, "it has more than"),
        (b"@book{a, title={A}", "line 1"),
    ],
)
def test_a_record_that_cannot_be_read_is_refused_by_its_file(tmp_path: Path, body: bytes, reason: str) -> None:
    file = tmp_path / "about.bib"
    file.write_bytes(body)
    with pytest.raises(InvalidMetadataFile) as caught:
        draft_of("--from", str(file))
    assert reason in str(caught.value)
    assert str(caught.value).startswith(str(file))
