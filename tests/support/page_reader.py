"""Reads our pages as a strict browser would, and knows what must never be in one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element

import html5lib

__all__ = ["Page", "read_page"]

_NEVER = frozenset({"style", "frame", "object", "embed", "applet", "base", "foreignObject", "template"})
_ADDRESSES = ("href", "src", "action", "formaction", "poster", "srcset", "data", "ping")


class Page:
    """A page that is valid HTML and can do nothing that is not ours."""

    def __init__(self, body: bytes) -> None:
        self.source = body.decode()
        # Strict: the first error of the parser is raised.
        self.root: Element = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(self.source)
        self._check()

    def all(self, tag: str, **attributes: str) -> list[Element]:
        wanted = {name.removesuffix("_").replace("_", "-"): value for name, value in attributes.items()}
        return [each for each in self._elements() if _local(each) == tag and wanted.items() <= each.attrib.items()]

    def one(self, tag: str, **attributes: str) -> Element:
        (found,) = self.all(tag, **attributes)
        return found

    @property
    def title(self) -> str:
        return words(self.root.find("head/title"))

    @property
    def text(self) -> str:
        """What a reader reads."""
        return words(self.root.find("body"))

    @property
    def links(self) -> list[str]:
        return [each.attrib["href"] for each in self.root.iter("a") if "href" in each.attrib]

    @property
    def meta(self) -> list[tuple[str, str]]:
        return [
            (each.attrib["name"], each.attrib["content"]) for each in self.root.iter("meta") if "name" in each.attrib
        ]

    @property
    def linked_data(self) -> dict[str, object]:
        loaded: dict[str, object] = json.loads(self.one("script", type="application/ld+json").text or "")
        return loaded

    def _check(self) -> None:
        for each in self._elements():
            assert _local(each) not in _NEVER, each.tag
            self._check_attributes(each)
            if _local(each) == "iframe":  # the preview of a PDF, and nothing else
                assert re.search(r"/doc/[^?#]+\.pdf\?preview#", each.attrib["src"]), each.attrib
            if each.tag == "script" and each.get("type") != "application/ld+json":
                assert (each.get("src") or "").startswith("/static/")
                assert not each.text

        names = [each.attrib["id"] for each in self._elements() if "id" in each.attrib]
        assert len(names) == len(set(names))

    def _elements(self) -> Iterator[Element]:
        # A comment's tag is a function, whatever its type says.
        return (each for each in self.root.iter() if not callable(each.tag))

    def _check_attributes(self, element: Element) -> None:
        for name, value in element.attrib.items():
            assert not name.lower().startswith("on"), name
            assert name not in {"style", "http-equiv", "srcdoc"}
            if name in _ADDRESSES:
                mail = ("mailto:",) if element.tag == "a" else ()
                assert value.startswith(("http://", "https://", "/", "?", "#", *mail)), value
                assert not value.startswith("//"), value


def _local(element: Element) -> str:
    """The name without its namespace, which drawings have."""
    return element.tag.rpartition("}")[2]


def words(element: Element | None) -> str:
    return "" if element is None else " ".join("".join(element.itertext()).split())


def read_page(body: bytes) -> Page:
    return Page(body)
