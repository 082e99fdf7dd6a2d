"""Texts as large as a request can carry, built to make each parser work: none takes the processor for long."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from time import process_time

import pytest

from ibi.deposits.pages.form import read_fields
from ibi.deposits.pages.state import MOST_TYPED
from ibi.importing.rules.imported import MOST_IMPORTED
from ibi.importing.rules.reading import read_records
from ibi.items.model.file import check_file_name, is_media_type
from ibi.items.model.item import Description
from ibi.items.model.metadata import Orcid, checked_date
from ibi.items.model.search import SearchQuery
from ibi.items.rules.licences import read_licence
from ibi.items.rules.search_terms import read_terms
from ibi.server.protocol import MOST_HEAD
from ibi.standard.errors import IbiError
from ibi.standard.instant import Instant
from ibi.standard.json_fields import decode_document
from ibi.standard.label import RepositoryName
from ibi.standard.label.diagnosis import explain
from ibi.standard.language_choice import preferences
from ibi.standard.messages.values import decode_query, host_and_port, mail_address, url
from ibi.standard.pairs import decode_leniently
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.relation import VerbList
from ibi.usage.rules.robots import is_robot
from ibi.web.forms import MOST_HEAD as MOST_PART_HEAD
from ibi.web.forms import MultipartParser
from ibi.web.logging import mask_links
from ibi.web.preconditions import byte_range, is_tag_known
from ibi.web.record_requests import MOST_JSON, parse_description
from ibi.web.request import choose, expected_digests, has_subject, is_wanted_anew, only_cookie

MOST_CPU = 0.2
"""Seconds."""
NOW = Instant.parse("2026-11-20T10:00:00Z")
FEW = ("a", " ", "/", "%", "%c3", "a=b&", "(", "[", "{a", '"', '"a ', "\\", "\n", "\t\n", "a,", ";", "\u202e", "ﷺ")
LINES = (
    *("a;", "a|", "a | ", "1", "1-", "1a;", "0000-0002-1825-0097;", "orcid.org/", "ror.org/", "x:"),
    *("a\n", "1" * 99 + "\n", "a 0000-0002-1825-0097\n", "Cites doi:10.1/a\n", "a | 1, 2\n", "10.0.0.0/8,"),
)
Parser = Callable[[str], object]


def header(name: bytes, read: Callable[[list[tuple[bytes, bytes]]], object]) -> Parser:
    return lambda text: read([(name, text.encode("latin-1", "replace"))])


def field(name: str) -> Parser:
    return lambda text: read_fields(Description(), {name: text}, NOW)


def multipart(text: str) -> None:
    parser = MultipartParser(b"x")
    for _ in parser.feed(b"--x\r\nContent-Disposition: form-data; name=a" + text.encode()):
        pass


def described(text: str) -> None:
    document = decode_document(text.encode())
    assert isinstance(document, dict)
    parse_description(document)


PARSERS: dict[str, tuple[Parser, int, tuple[str, ...]]] = {
    "a pasted record": (
        read_records,
        MOST_IMPORTED,
        ("a@", "@string{a={b}}", "@comment{", "@book{x,title=a}", "TY  - JOUR\nTI  - a\nER  - \n", "[", '{"a":'),
    ),
    "the words of a search": (lambda text: read_terms(SearchQuery(text=text).text), MOST_HEAD, ("OR ", "-title:")),
    "Accept-Language": (preferences, MOST_HEAD, ("en;q=0.5,", "*;q=")),
    "Accept": (lambda text: choose([text], ["text/html", "application/json"]), MOST_HEAD, ("a/b;q=0.1,", "*/*,")),
    "Range": (lambda text: byte_range([text], 10), MOST_HEAD, ("bytes=0-,",)),
    "If-None-Match": (header(b"if-none-match", lambda fields: is_tag_known(fields, '"x"')), MOST_HEAD, ('W/"a",',)),
    "Cache-Control": (header(b"cache-control", is_wanted_anew), MOST_HEAD, ("max-age=", "max-age=1,")),
    "Repr-Digest": (header(b"repr-digest", expected_digests), MOST_HEAD, ("sha-512=:aa:,",)),
    "Cookie": (header(b"cookie", lambda fields: only_cookie(fields, "session")), MOST_HEAD, ("a=b; ", "session=")),
    "User-Agent": (is_robot, MOST_HEAD, ("Mozilla/5.0 (", "bot")),
    "Content-Type": (is_media_type, MOST_HEAD, ("; a=b", '; a=""')),
    "a line of the log": (mask_links, MOST_HEAD, ("/request/", "/sign-in/", "files/")),
    "a persistent URL": (PersistentUrl.parse, MOST_HEAD, ("+(", "!", "upn:a:/", "lab.br/arq/2009/07.21.14.43/")),
    "verbs": (VerbList.parse, MOST_HEAD, ("GetMetadata ", "GetLastEdition(")),
    "a query": (decode_query, MOST_HEAD, ("a=", "+")),
    "whether there is a subject": (lambda text: has_subject(text.encode()), MOST_HEAD, ("servicesubject",)),
    "a host": (host_and_port, MOST_HEAD, ("a.", "::")),
    "a file name": (check_file_name, MOST_HEAD, ("a/", "a.")),
    "pairs": (lambda text: decode_leniently(text.encode()), 256 << 10, ("{", "a {b}\n", "a ")),
    "a label": (RepositoryName.parse, MOST_JSON, ("a.", "a.b/c/2009/")),
    "what is wrong with a label": (explain, MOST_JSON, ("a.", "8JMKD3MGP8W/")),
    "a URL": (url, MOST_JSON, ("http://a/{", "http://", "%4")),
    "an address of mail": (mail_address, MOST_JSON, ("a@", "a.")),
    "an ORCID iD": (Orcid, MOST_JSON, ("0000-",)),
    "a licence": (read_licence, MOST_JSON, ("CC-BY-", "https://creativecommons.org/licenses/by/")),
    "a date": (checked_date, MOST_JSON, ("2009-",)),
    "the parts of a form": (multipart, MOST_PART_HEAD, ("; a=b", '; a="', "; a*=utf-8''%")),
    **{
        f"the field {name}": (field(name), MOST_TYPED, LINES)
        for name in ("title", "creators", "contributors", "publisher", "funding", "related", "places", "subjects")
    },
    **{f"the field {name}": (field(name), MOST_TYPED, LINES) for name in ("networks", "date", "target", "licence")},
}


def filled(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size]


def cost(parse: Parser, text: str) -> float:
    """Seconds of the processor, the least of some tries: a text that is refused is read, too."""
    costs: list[float] = []
    while len(costs) < 3 and (not costs or costs[-1] > MOST_CPU):
        begun = process_time()
        with suppress(IbiError, ValueError):
            parse(text)
        costs.append(process_time() - begun)
    return min(costs)


@pytest.mark.parametrize("name", PARSERS)
def test_no_parser_takes_long_for_the_largest_text_of_a_request(name: str) -> None:
    parse, size, units = PARSERS[name]
    for unit in {*FEW, *units}:
        for text in (filled(unit, size), f"a {filled(unit, size - 4)}!"):
            spent = cost(parse, text)
            assert spent <= MOST_CPU, f"{unit!r} repeated"


DOCUMENTS = {
    "nested": "[" * MOST_JSON,
    "names": json.dumps({"metadata": {"creator": ["a"] * 19_000}}),
    "people": json.dumps({"metadata": {"creator": [{"name": "a", "orcid": "0000-0002-1825-0097"}] * 19_000}}),
    "too many names": json.dumps({"metadata": {"creator": ["a"] * 200_000}}),
    "a long title": json.dumps({"metadata": {"title": ["\u0301" * 170_000]}}),
    "titles": json.dumps({"metadata": {"title": ["ﷺ"] * 19_000}}),
    "dates": json.dumps({"metadata": {"date": ["2009-01-01"] * 19_000}}),
    "other names": json.dumps({"alternates": ["doi:10.1000/182"] * 50_000}),
    "networks": json.dumps({"visibility": {"networks": ["10.0.0.0/8"] * 70_000}}),
    "a service": json.dumps({"target_url": "http://a/" + "{a" * 500_000}),
    "unknown members": json.dumps({str(number): 0 for number in range(80_000)}),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_no_description_takes_long_to_be_read(name: str) -> None:
    text = DOCUMENTS[name]
    assert len(text) <= MOST_JSON
    spent = cost(described, text)
    assert spent <= MOST_CPU


def test_names_in_a_form_are_still_told_from_identifiers() -> None:
    typed = (
        "Silva, Ana 0000-0002-1825-0097 | INPE https://ror.org/04xbn6x09; Banon (https://orcid.org/0000-0002-1694-233X)"
    )
    description, errors = read_fields(Description(), {"creators": typed.replace("; ", "\n")}, NOW)
    assert not errors
    ana, banon = description.metadata.creator
    assert (ana.name, ana.affiliations[0].name, banon.name) == ("Silva, Ana", "INPE", "Banon")
    assert ana.orcid == Orcid("0000-0002-1825-0097")
    assert banon.orcid == Orcid("0000-0002-1694-233X")
