"""Reads answers of OAI-PMH 2.0, and refuses those that its text and its schema do not allow.

The rules stand here as the protocol has them: which elements an answer has, in which order, how often, with which
attributes and which values. Elements of Dublin Core have text and `xml:lang` alone. Where `make schemas` could fetch
OAI-PMH.xsd and oai_dc.xsd, which are not ours to keep here, each answer has to be valid by them too.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from xml.etree import ElementTree as Tree

from lxml import etree

OAI = "{http://www.openarchives.org/OAI/2.0/}"
OAI_DC = "{http://www.openarchives.org/OAI/2.0/oai_dc/}"
DC = "{http://purl.org/dc/elements/1.1/}"
OAI_IDENTIFIER = "{http://www.openarchives.org/OAI/2.0/oai-identifier}"
XSI_LOCATION = "{http://www.w3.org/2001/XMLSchema-instance}schemaLocation"
XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"

SCHEMAS = Path(sys.prefix) / "schemas"
HAS_SCHEMAS = all((SCHEMAS / name).exists() for name in ("OAI-PMH.xsd", "oai_dc.xsd"))
_XSD = "http://www.w3.org/2001/XMLSchema"
_XML = "http://www.w3.org/XML/1998/namespace"
# What the two import from elsewhere: one document may name one file of each namespace.
_OF_SCHEMAS = {
    "all.xsd": (
        "",
        '<xs:import namespace="http://www.openarchives.org/OAI/2.0/" schemaLocation="OAI-PMH.xsd"/>'
        '<xs:import namespace="http://www.openarchives.org/OAI/2.0/oai_dc/" schemaLocation="oai_dc.xsd"/>'
        '<xs:import namespace="http://www.openarchives.org/OAI/2.0/oai-identifier" schemaLocation="id.xsd"/>',
    ),
    "id.xsd": (
        'targetNamespace="http://www.openarchives.org/OAI/2.0/oai-identifier"',
        '<xs:element name="oai-identifier" type="xs:anyType"/>',
    ),
    "xml.xsd": (f'targetNamespace="{_XML}"', '<xs:attribute name="lang" type="xs:language"/>'),
    "simpledc20021212.xsd": (
        'targetNamespace="http://purl.org/dc/elements/1.1/"',
        f'<xs:import namespace="{_XML}" schemaLocation="xml.xsd"/>{{elements}}',
    ),
}
_DC_ELEMENT = (
    '<xs:element name="{name}"><xs:complexType><xs:simpleContent><xs:extension base="xs:string">'
    '<xs:attribute ref="xml:lang"/></xs:extension></xs:simpleContent></xs:complexType></xs:element>'
)

_ANY = r"[\s\S]*"
_URI = r"[A-Za-z][A-Za-z0-9+.\-]*:[!-~]+"
_TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
_DATE = rf"\d{{4}}-\d\d-\d\d|{_TIME}"
_WORD = r"[A-Za-z0-9\-_.!~*'()]+"
_SPEC = rf"{_WORD}(?::{_WORD})*"
SPEC_PATTERN = re.compile(_SPEC)
_VERBS = "Identify|ListMetadataFormats|ListSets|GetRecord|ListIdentifiers|ListRecords"
_CODES = (
    "cannotDisseminateFormat|idDoesNotExist|badArgument|badVerb|noMetadataFormats|noRecordsMatch|badResumptionToken"
    "|noSetHierarchy"
)
_ELEMENTS = "title creator subject description publisher contributor date type format identifier source language"
_DC_WORDS = f"{_ELEMENTS} relation coverage rights".split()
_DC_NAMES = frozenset(f"{DC}{name}" for name in _DC_WORDS)


@dataclass(frozen=True)
class Rule:
    """What an element has: `children` as a regular expression over their names, or `text`; `attributes` by name."""

    children: str = ""
    text: str | None = None
    attributes: tuple[tuple[str, str], ...] = ()
    required: frozenset[str] = frozenset()


_TOKEN = Rule(text=_ANY, attributes=(("cursor", r"\d+"), ("completeListSize", r"[1-9]\d*"), ("expirationDate", _TIME)))
_RULES = {
    "OAI-PMH": Rule(f"responseDate request (?:(?:error )+|(?:{_VERBS}) )", attributes=((XSI_LOCATION, _ANY),)),
    "responseDate": Rule(text=_TIME),
    "request": Rule(
        text=_URI,
        attributes=(
            ("verb", _VERBS),
            ("identifier", _URI),
            ("metadataPrefix", _WORD),
            ("from", _DATE),
            ("until", _DATE),
            ("set", _SPEC),
            ("resumptionToken", _ANY),
        ),
    ),
    "error": Rule(text=r"[\s\S]+", attributes=(("code", _CODES),), required=frozenset({"code"})),
    "Identify": Rule(
        "repositoryName baseURL protocolVersion (?:adminEmail )+earliestDatestamp deletedRecord granularity "
        "(?:compression )*(?:description )*"
    ),
    "repositoryName": Rule(text=_ANY),
    "baseURL": Rule(text=_URI),
    "protocolVersion": Rule(text=r"2\.0"),
    "adminEmail": Rule(text=r"\S+@(?:\S+\.)+\S+"),
    "earliestDatestamp": Rule(text=_TIME),
    "deletedRecord": Rule(text="no|persistent|transient"),
    "granularity": Rule(text="YYYY-MM-DD|YYYY-MM-DDThh:mm:ssZ"),
    "ListMetadataFormats": Rule("(?:metadataFormat )+"),
    "metadataFormat": Rule("metadataPrefix schema metadataNamespace "),
    "metadataPrefix": Rule(text=_WORD),
    "schema": Rule(text=_URI),
    "metadataNamespace": Rule(text=_URI),
    "ListSets": Rule("(?:set )+(?:resumptionToken )?"),
    "set": Rule("setSpec setName (?:setDescription )*"),
    "setSpec": Rule(text=_SPEC),
    "setName": Rule(text=r"[\s\S]+"),
    "GetRecord": Rule("record "),
    "ListRecords": Rule("(?:record )+(?:resumptionToken )?"),
    "ListIdentifiers": Rule("(?:header )+(?:resumptionToken )?"),
    "record": Rule("header (?:metadata )?(?:about )*"),
    "header": Rule("identifier datestamp (?:setSpec )*", attributes=(("status", "deleted"),)),
    "identifier": Rule(text=_URI),
    "datestamp": Rule(text=_TIME),
    "resumptionToken": _TOKEN,
}


def read_answer(body: bytes) -> Tree.Element:
    """The document, if it is one that the protocol allows."""
    assert body.startswith(b'<?xml version="1.0" encoding="UTF-8"?>\n<OAI-PMH ')
    assert b"<!" not in body
    root = Tree.fromstring(body)
    _check(root)
    if HAS_SCHEMAS:
        validate(body)
    for record in root.iter(f"{OAI}record"):
        header, metadata = record.find(f"{OAI}header"), record.find(f"{OAI}metadata")
        assert header is not None
        assert (header.get("status") == "deleted") == (metadata is None)
    return root


def validate(body: bytes) -> None:
    """By the schemas; `lxml.etree.DocumentInvalid` says what they do not allow."""
    _schema().assertValid(etree.fromstring(body))


def _check(element: Tree.Element) -> None:
    assert element.tag.startswith(OAI), element.tag
    name = element.tag.removeprefix(OAI)
    if name in ("metadata", "description"):
        _check_foreign(element, name)
        return
    rule = _RULES[name]
    allowed = dict(rule.attributes)
    assert rule.required <= element.attrib.keys() <= allowed.keys(), (name, element.attrib)
    for attribute, value in element.attrib.items():
        assert re.fullmatch(allowed[attribute], value), (name, attribute, value)
    if rule.text is not None:
        assert len(element) == 0, name
        assert re.fullmatch(rule.text, element.text or ""), (name, element.text)
        return
    children = "".join(f"{child.tag.removeprefix(OAI)} " for child in element)
    assert re.fullmatch(rule.children, children), (name, children)
    assert not "".join([element.text or "", *(child.tail or "" for child in element)]).strip(), name
    for child in element:
        _check(child)


def _check_foreign(element: Tree.Element, name: str) -> None:
    assert not element.attrib
    assert len(element) == 1
    (child,) = element
    assert len((child.get(XSI_LOCATION) or "").split()) == 2
    if name == "description":
        assert child.tag == f"{OAI_IDENTIFIER}oai-identifier"
        parts = [(each.tag.removeprefix(OAI_IDENTIFIER), each.text or "") for each in child]
        host = r"[a-zA-Z][a-zA-Z0-9\-]*(?:\.[a-zA-Z][a-zA-Z0-9\-]*)+"
        patterns = {
            "scheme": "oai",
            "repositoryIdentifier": host,
            "delimiter": ":",
            "sampleIdentifier": rf"oai:{host}:[a-zA-Z0-9\-_.!~*'();/?:@&=+$,%]+",
        }
        assert [each for each, _ in parts] == list(patterns)
        assert all(re.fullmatch(patterns[each], text) for each, text in parts), parts
        return
    assert child.tag == f"{OAI_DC}dc"
    for each in child:
        assert each.tag in _DC_NAMES, each.tag
        assert len(each) == 0
        assert each.attrib.keys() <= {XML_LANG}


class _Imported(etree.Resolver):  # type: ignore[misc]  # lxml has no types
    """Gives the schemas by the last part of their addresses; nothing is read from a network."""

    def resolve(self, url: str, public_id: str, context: object) -> object:
        name = url.rpartition("/")[2]
        if name not in _OF_SCHEMAS:
            return self.resolve_filename(str(SCHEMAS / name), context)
        attributes, content = _OF_SCHEMAS[name]
        elements = "".join(_DC_ELEMENT.format(name=each) for each in _DC_WORDS)
        text = f'<xs:schema xmlns:xs="{_XSD}" {attributes}>{content.format(elements=elements)}</xs:schema>'
        return self.resolve_string(text, context)


@cache
def _schema() -> etree.XMLSchema:
    parser = etree.XMLParser(no_network=True)
    parser.resolvers.add(_Imported())
    return etree.XMLSchema(etree.parse("http://schemas.invalid/all.xsd", parser))
