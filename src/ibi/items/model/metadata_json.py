"""Descriptive metadata in JSON, for records of items and of drafts."""

from __future__ import annotations

from typing import Any, Final

from ibi.items.model.description_values import Affiliation, Funding, GeoPlace, RelatedIdentifier, RelationKind, Ror
from ibi.items.model.metadata import DC_ELEMENTS, Agent, DescriptiveMetadata, Licence, Orcid, ResourceType, Text
from ibi.standard.document_errors import InvalidDocument
from ibi.standard.json_fields import Fields, many, member, of_object, of_string, string
from ibi.standard.languages import LanguageTag
from ibi.standard.unknown_members import Shape

Document = dict[str, Any]

AGENTS: Final = ("contributor", "creator")
"""The elements with people and institutions as values."""
SINCE_3: Final = ("related_identifiers", "funding", "places")
"""Members that came with schema 3, beside the affiliations of people."""
METADATA_MEMBERS: Final = (*DC_ELEMENTS, "licence", "resource_type", *SINCE_3)
"""All members of a description, in the order in which they are written."""


def metadata_document(metadata: DescriptiveMetadata) -> Document:
    elements: Document = {
        element: [_value(value) for value in values] for element in DC_ELEMENTS if (values := metadata.values(element))
    }
    others: Document = {
        "licence": _text(metadata.licence),
        "resource_type": _text(metadata.resource_type),
        "related_identifiers": [_encode_related(each) for each in metadata.related_identifiers],
        "funding": [_funding(each) for each in metadata.funding],
        "places": [_place(each) for each in metadata.places],
    }
    return elements | _present(others)


def is_of_schema_3(metadata: DescriptiveMetadata) -> bool:
    """Return whether it has a member that earlier versions keep without understanding it."""
    if any(getattr(metadata, name) for name in SINCE_3):
        return True
    return any(agent.affiliations for agent in (*metadata.creator, *metadata.contributor))


def _value(value: Text | Agent) -> Document:
    language = _text(value.language)
    if isinstance(value, Agent):
        affiliations = [_present({"name": each.name, "ror": _text(each.ror)}) for each in value.affiliations]
        agent: Document = {"name": value.name, "orcid": _text(value.orcid), "language": language}
        return _present({**agent, "affiliations": affiliations})
    return _present({"value": value.value, "language": language})


def _encode_related(each: RelatedIdentifier) -> Document:
    return {"relation": each.relation.value, "scheme": each.scheme, "value": each.value}


def _funding(each: Funding) -> Document:
    return _present({"name": each.name, "ror": _text(each.ror), "award": each.award, "url": each.url})


def _place(each: GeoPlace) -> Document:
    return _present({"name": each.name, "box": None if each.box is None else list(each.box)})


def _present(document: Document) -> Document:
    return {name: value for name, value in document.items() if value is not None and value != []}


def _text(value: object | None) -> str | None:
    return None if value is None else str(value)


def _tag(text: str) -> LanguageTag:
    return LanguageTag.parse(text, registered=False)


_read_tag = of_string(_tag)
_read_orcid = of_string(Orcid)
_read_ror = of_string(Ror)
_read_relation = of_string(member(RelationKind))
_read_strings = many(string)


@of_object
def _read_text(fields: Fields) -> Text:
    return Text(fields.required("value", string), fields.nullable("language", _read_tag))


@of_object
def _read_affiliation(fields: Fields) -> Affiliation:
    return Affiliation(fields.required("name", string), fields.nullable("ror", _read_ror))


_read_affiliations = many(_read_affiliation)


@of_object
def _read_agent(fields: Fields) -> Agent:
    name, orcid = fields.required("name", string), fields.nullable("orcid", _read_orcid)
    language = fields.nullable("language", _read_tag)
    return Agent(name, orcid, language, fields.optional("affiliations", _read_affiliations, ()))


@of_object
def _read_related(fields: Fields) -> RelatedIdentifier:
    relation = fields.required("relation", _read_relation)
    return RelatedIdentifier(relation, fields.required("scheme", string), fields.required("value", string))


@of_object
def _read_funding(fields: Fields) -> Funding:
    name, ror = fields.required("name", string), fields.nullable("ror", _read_ror)
    return Funding(name, ror, fields.nullable("award", string), fields.nullable("url", string))


@of_object
def _read_place(fields: Fields) -> GeoPlace:
    return GeoPlace(fields.nullable("name", string), fields.nullable("box", _read_box))


def _read_box(value: object, path: str) -> tuple[str, str, str, str]:
    sides = _read_strings(value, path)
    if len(sides) != 4:
        raise InvalidDocument(path, 0, "a box has four numbers: west, south, east, north")
    return sides[0], sides[1], sides[2], sides[3]


_read_elements = {element: many(_read_agent if element in AGENTS else _read_text) for element in DC_ELEMENTS}
_read_licence = of_string(Licence)
_read_resource_type = of_string(member(ResourceType))
_read_all_related, _read_fundings, _read_places = many(_read_related), many(_read_funding), many(_read_place)


@of_object
def read_metadata(fields: Fields) -> DescriptiveMetadata:
    values: Document = {
        element: fields.required(element, read) for element, read in _read_elements.items() if element in fields
    }
    return DescriptiveMetadata(
        **values,
        licence=fields.nullable("licence", _read_licence),
        resource_type=fields.nullable("resource_type", _read_resource_type),
        related_identifiers=fields.optional("related_identifiers", _read_all_related, ()),
        funding=fields.optional("funding", _read_fundings, ()),
        places=fields.optional("places", _read_places, ()),
    )


_TEXT_SHAPE: Final = Shape(frozenset({"value", "language"}))
_AGENT_SHAPE: Final = Shape(
    frozenset({"name", "orcid", "language", "affiliations"}),
    lists={"affiliations": Shape(frozenset({"name", "ror"}))},
)
METADATA_SHAPE: Final = Shape(
    frozenset(METADATA_MEMBERS),
    lists={
        **{element: _AGENT_SHAPE if element in AGENTS else _TEXT_SHAPE for element in DC_ELEMENTS},
        "related_identifiers": Shape(frozenset({"relation", "scheme", "value"})),
        "funding": Shape(frozenset({"name", "ror", "award", "url"})),
        "places": Shape(frozenset({"name", "box"})),
    },
)
