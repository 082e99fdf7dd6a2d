"""The metadata of an item as `oai_dc`: unqualified Dublin Core in XML, which every harvester reads."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from ibi.model.item import Item
from ibi.model.metadata import DC_ELEMENTS

# OAI-PMH 2.0, oai_dc.xsd: the fifteen elements, in any order and number, each perhaps with xml:lang
_BEGINNING = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/"'
    ' xmlns:dc="http://purl.org/dc/elements/1.1/"'
    ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    ' xsi:schemaLocation="http://www.openarchives.org/OAI/2.0/oai_dc/'
    ' http://www.openarchives.org/OAI/2.0/oai_dc.xsd">\n'
)


def oai_dc(item: Item, persistent_url: str) -> bytes:
    """Write the document. Facts that the record has outside its description go into the elements meant for them."""
    lines = (
        f"  <dc:{name}{_language(language)}>{escape(value, quote=False)}</dc:{name}>\n"
        for name, value, language in _values(item, persistent_url)
    )
    return f"{_BEGINNING}{''.join(lines)}</oai_dc:dc>\n".encode()


def _language(language: str | None) -> str:
    return "" if language is None else f' xml:lang="{escape(language)}"'


def _values(item: Item, persistent_url: str) -> Iterator[tuple[str, str, str | None]]:
    said = set()
    for name in DC_ELEMENTS:
        for value in item.metadata.values(name):
            said.add((name, str(value)))
            yield name, str(value), None if value.language is None else str(value.language)
    for name, text in _implied_values(item, persistent_url):
        if (name, text) not in said:
            yield name, text, None


def _implied_values(item: Item, persistent_url: str) -> Iterator[tuple[str, str]]:
    yield "identifier", persistent_url
    yield from (("identifier", f"ibi:{label.spelling}") for label in item.labels.labels)
    if item.language is not None:
        yield "language", str(item.language)
    if item.metadata.resource_type is not None:
        yield "type", str(item.metadata.resource_type)
    if item.metadata.licence is not None:
        yield "rights", item.metadata.licence.url
