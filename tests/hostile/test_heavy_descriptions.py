"""Descriptions as large as they may be: whoever looks at a list, a feed or a page does not pay for them."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from ibi.citation.rules import work
from ibi.citation.rules.names import read_name
from ibi.items.model.metadata import Agent, DescriptiveMetadata, Text
from ibi.items.model.visibility import Visibility
from ibi.standard.messages.values import IpAddress
from ibi.standard.networks import network
from tests.support.archive_app import NOW, REP, ArchiveApp, archive_app, deleted, kept

HTML = {"accept": "text/html"}
HEAVY = DescriptiveMetadata(
    title=(Text("Título & " * 11_000), Text("T" * 99_000)),
    creator=tuple(Agent("a&" * 45_000 + str(number)) for number in range(8)),
    contributor=(Agent("b, " * 30_000),),
    subject=(Text("x" * 99_000),),
    relation=(Text("http://a/" + "y" * 99_000),),
    publisher=(Text("p " * 49_000),),
)
LONG_LINE = DescriptiveMetadata(title=tuple(Text(f"t{number}") for number in range(20_000)))
LABELS = [f"lab.br/arq/2010/01.01.01.{number:02}" for number in range(20)]


def library(metadata: DescriptiveMetadata = HEAVY) -> ArchiveApp:
    return archive_app(*(kept(label, metadata=metadata) for label in LABELS))


@pytest.mark.parametrize(("path", "most"), [("/", 40_000), ("/search", 120_000), ("/search.atom", 200_000)])
async def test_a_list_has_some_hundred_characters_of_each_text(path: str, most: int) -> None:
    answer = await library().get(path, HTML)
    size = len(answer.body)
    assert (answer.status, "Título".encode() in answer.body) == (200, True)
    assert size <= most


async def test_a_feed_has_some_of_many_names() -> None:
    names, words = tuple(Agent("n" * 400) for _ in range(1000)), tuple(Text("w" * 400) for _ in range(1000))
    answer = await library(DescriptiveMetadata(creator=names, contributor=names, subject=words)).get("/search.atom")
    size = len(answer.body)
    assert size <= 600_000


@pytest.mark.parametrize("path", ["", "?format=bibtex", "?format=ris", "?format=csl"])
async def test_a_page_of_one_item_shows_part_of_what_is_endless(path: str) -> None:
    answer = await library().get(f"/col/{LABELS[0]}/metadata{path}", HTML)
    size = len(answer.body)
    assert answer.status == 200
    assert size <= 100_000


async def test_a_line_of_editions_shows_titles_in_part() -> None:
    first, second = "lab.br/arq/2010/01.01.01.01", "lab.br/arq/2010/01.01.01.02"
    old, files = kept(first, metadata=HEAVY)
    new, _ = kept(second, metadata=DescriptiveMetadata(title=(Text("new"),)), edition_of=old.labels)
    answer = await archive_app((old, files), (new, files)).get(f"/col/{second}/metadata", HTML)
    size, is_named = len(answer.body), "Título".encode() in answer.body
    assert is_named
    assert size <= 40_000


async def test_a_tombstone_shows_part_of_what_is_endless() -> None:
    many = DescriptiveMetadata(description=tuple(Text("d" * 50_000) for _ in range(100)))
    answer = await archive_app(deleted(REP, metadata=many)).get(f"/col/{REP}/metadata", HTML)
    size = len(answer.body)
    assert answer.status == 410
    assert size <= 1_000_000


@pytest.fixture
def names_read(monkeypatch: pytest.MonkeyPatch) -> list[Agent]:
    found: list[Agent] = []

    def counted(agent: Agent) -> object:
        found.append(agent)
        return read_name(agent)

    monkeypatch.setattr(work, "read_name", counted)
    return found


@pytest.mark.parametrize(("path", "most"), [("", 600), ("?format=bibtex", 4000), ("?format=ris", 4000)])
async def test_names_that_are_not_shown_are_not_read(names_read: list[Agent], path: str, most: int) -> None:
    names = tuple(Agent(f"Sobrenome{number}, Nome{number}") for number in range(9_000))
    app = archive_app(kept(REP, metadata=DescriptiveMetadata(creator=names, contributor=names)))
    answer = await app.get(f"/col/{REP}/metadata{path}", HTML)
    assert answer.status == 200
    read = len(names_read)
    assert 0 < read <= most


async def test_of_twenty_thousand_titles_one_is_looked_for_among_some(monkeypatch: pytest.MonkeyPatch) -> None:
    def counted(*_: object) -> tuple[str, ...]:
        raise AssertionError("all titles were put in order")

    monkeypatch.setattr(DescriptiveMetadata, "titles", counted)
    assert (await library(LONG_LINE).get("/", HTML)).status == 200
    assert (await library(LONG_LINE).get("/search.atom")).status == 200


def test_a_thousand_networks_are_looked_through_once_for_all_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0

    def counted(*_: object) -> bool:
        nonlocal compared
        compared += 1
        return False

    networks = tuple(network(f"10.{number // 256}.{number % 256}.0/24") for number in range(1000))
    monkeypatch.setattr(type(networks[0]), "__contains__", counted)
    claimed: list[IpAddress] = [ip_address(f"2001:db8::{number:x}") for number in range(64)]
    claimed += [ip_address(f"11.0.{number}.1") for number in range(64)]
    visibility = Visibility(networks=networks)
    assert not visibility.is_open_to(claimed, NOW)
    assert visibility.is_open_to([*claimed, ip_address("10.3.231.5")], NOW)
    assert not visibility.is_open_to([ip_address("10.3.232.5")], NOW)
    assert compared == 0
