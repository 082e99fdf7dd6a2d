from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.items.model.item import Item, Tombstone
from ibi.items.model.metadata import Agent, DescriptiveMetadata, Licence, Text
from ibi.standard.instant import Instant
from ibi.standard.messages import State
from ibi.web.atom import Feed, atom
from tests.properties.item_strategies import items
from tests.support.catalog_samples import item

NOW = Instant(1_790_000_000)
FEED = Feed(
    title="Newest & best", own_url="https://a.br/feed?q=x&page=2", page_url="https://a.br/?q=x", author="The Archive"
)
NAMESPACE = {"a": "http://www.w3.org/2005/Atom"}


def written(*items: Item, feed: Feed = FEED) -> ElementTree.Element:
    document = atom(
        feed, items, NOW, lambda item: f"http://urlib.net/{item.rep}", lambda item: f"https://a.br/col/{item.rep}"
    )
    return ElementTree.fromstring(document)


def texts(element: ElementTree.Element, path: str) -> list[str | None]:
    return [found.text for found in element.findall(path, NAMESPACE)]


def test_a_feed_says_what_it_is() -> None:
    feed = written()
    assert texts(feed, "a:title") == ["Newest & best"]
    assert texts(feed, "a:id") == ["https://a.br/feed?q=x&page=2"]
    assert texts(feed, "a:updated") == [str(NOW)]
    assert texts(feed, "a:author/a:name") == ["The Archive"]
    links = {link.get("rel"): link.get("href") for link in feed.findall("a:link", NAMESPACE)}
    assert links == {"self": FEED.own_url, "alternate": FEED.page_url}


def test_an_entry_is_an_item() -> None:
    description = DescriptiveMetadata(
        title=(Text("A <b>title</b>\n&amp;"),),
        creator=(Agent("Ávila, Ana"), Agent("Banon")),
        subject=(Text('a "subject"'),),
        description=(Text("x" * 3_000),),
        licence=Licence("CC-BY-4.0"),
    )
    one = item(1, metadata=description, updated=Instant(1_700_000_100, "5"))
    (entry,) = written(one).findall("a:entry", NAMESPACE)
    assert texts(entry, "a:title") == ["A <b>title</b> &amp;"]
    assert texts(entry, "a:id") == [f"http://urlib.net/{one.rep}"]
    assert texts(entry, "a:published") == ["2023-11-14T22:13:20Z"]
    assert texts(entry, "a:updated") == ["2023-11-14T22:15:00.5Z"]
    assert texts(entry, "a:author/a:name") == ["Ávila, Ana", "Banon"]
    assert [category.get("term") for category in entry.findall("a:category", NAMESPACE)] == ['a "subject"']
    assert len(texts(entry, "a:summary")[0] or "") == 2_000
    links = {link.get("rel"): link.get("href") for link in entry.findall("a:link", NAMESPACE)}
    assert links == {"alternate": f"https://a.br/col/{one.rep}", "related": f"http://urlib.net/{one.rep}"}


def test_of_very_many_values_an_entry_has_some() -> None:
    many, agents = tuple(map(Text, map(str, range(500)))), tuple(map(Agent, map(str, range(500))))
    one = item(1, metadata=DescriptiveMetadata(title=many, creator=agents, contributor=agents, subject=many))
    (entry,) = written(one).findall("a:entry", NAMESPACE)
    assert [len(entry.findall(f"a:{name}", NAMESPACE)) for name in ("author", "contributor", "category")] == [20] * 3


def test_the_feed_is_as_new_as_its_newest_item() -> None:
    assert texts(written(item(1), item(2, updated=Instant(1_750_000_000))), "a:updated") == [
        str(Instant(1_750_000_000))
    ]


def test_what_was_deleted_has_no_entry() -> None:
    gone = item(1, state=State.DELETED, tombstone=Tombstone(NOW, "withdrawn"))
    assert written(gone).findall("a:entry", NAMESPACE) == []


def test_pages_of_a_list_name_their_neighbours() -> None:
    feed = Feed(
        title="x", own_url="u", page_url="p", author="a", previous_url="before", next_url="after", language="pt-BR"
    )
    links = {link.get("rel"): link.get("href") for link in written(feed=feed).findall("a:link", NAMESPACE)}
    assert (links["previous"], links["next"]) == ("before", "after")


@given(st.lists(items(), max_size=2))
def test_any_items_are_a_feed_with_all_that_is_required(kept: list[Item]) -> None:
    """RFC 4287 §4.1.1 and §4.1.2: exactly one id, title and updated, and an alternate link, in feed and entries."""
    feed = written(*kept)
    for element in (feed, *feed.findall("a:entry", NAMESPACE)):
        for name in ("id", "title", "updated"):
            (text,) = texts(element, f"a:{name}")
            assert text
        alternates = [link for link in element.findall("a:link", NAMESPACE) if link.get("rel") == "alternate"]
        assert len(alternates) == 1


@pytest.mark.parametrize("text", ["\u2028", "\x85x", "]]>", "<![CDATA["])
def test_strange_characters_do_not_break_it(text: str) -> None:
    assert texts(written(item(1, f"a {text} b")), "a:entry/a:title")
