"""OAI-PMH 2.0 at `/oai`: aggregators harvest the records of an Archive as Dublin Core.

The records contain the same as the public pages: the description of restricted items is public, their bytes are not
here. A protocol error is an answer of its own, with status 200. A set that is still being counted is 503 with
`Retry-After`, which the protocol provides.

Every text of a record consists of characters that XML 1.0 has (`ibi.items.model.metadata.checked_text`). Repeated parts
of a request were read by an ASCII grammar before. No XML is ever read.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ibi.harvesting.rules.harvesting import (
    METADATA_PREFIX,
    PREFIXES,
    TYPES,
    Arguments,
    HarvestRefused,
    HarvestVerb,
    RecordIdentifiers,
    RecordSet,
    bad_token,
    check_format,
    no_formats,
    read_arguments,
    read_selection,
    read_set_token,
    read_token,
    unknown_identifier,
    write_set_token,
    write_token,
)
from ibi.harvesting.service.harvesting import HarvestedRecord, Harvesting, RecordPage
from ibi.items.model.metadata import ResourceType
from ibi.items.ports.catalog import ChangeFeed
from ibi.jobs.promptness import beside
from ibi.reading.delivery.metadata import dublin_core
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.standard.origin import Origin
from ibi.web.body import read_body
from ibi.web.rendering import SITE, SiteFacts
from ibi.web.request import RawHeaders, only_value
from ibi.web.request_errors import UnsupportedMediaType
from ibi.web.sites import ArchiveSite

MOST_SETS: Final = 500
"""Number of prefixes in one list of sets."""
_LONGEST_BODY: Final = 8 * 1024
_MOST_ARGUMENTS: Final = 20
_MEDIA_TYPE: Final = "text/xml; charset=utf-8"
_BEGINNING: Final = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"'
    ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    ' xsi:schemaLocation="http://www.openarchives.org/OAI/2.0/'
    ' http://www.openarchives.org/OAI/2.0/OAI-PMH.xsd">\n'
)
_FORMAT: Final = (
    "<metadataFormat>"
    f"<metadataPrefix>{METADATA_PREFIX}</metadataPrefix>"
    "<schema>http://www.openarchives.org/OAI/2.0/oai_dc.xsd</schema>"
    "<metadataNamespace>http://www.openarchives.org/OAI/2.0/oai_dc/</metadataNamespace>"
    "</metadataFormat>\n"
)
_SAID_NOTHING: Final = frozenset({"badVerb", "badArgument"})
"""Errors after which the arguments are not repeated."""


class HarvestPages:
    """The endpoint for harvesters."""

    def __init__(self, site: ArchiveSite, feed: ChangeFeed, admin_email: str | None) -> None:
        """`admin_email` is the address of the Archive's administrator for harvesters."""
        self._site, self._harvesting = site, Harvesting(feed, site.catalog)
        self._base = f"{site.public_url}/oai"
        own = site.profile.service.rep
        host = Origin.of_url(site.public_url).host if own is None else own.host
        self._identifiers = RecordIdentifiers(host)
        self._mail = admin_email or f"postmaster@{host}"

    def routes(self) -> list[Route]:
        return [Route("/oai", self.answer, methods=["GET", "POST"])]

    async def answer(self, request: Request) -> Response:
        pairs = await _pairs(request)
        name = request.scope.get(SITE, SiteFacts()).name
        body = await beside(lambda: self._document(pairs, name))
        return Response(body, HTTPStatus.OK, {"cache-control": "no-cache"}, _MEDIA_TYPE)

    def _document(self, pairs: list[tuple[str, str]] | None, name: str) -> bytes:
        """Return the whole answer. This call blocks."""
        arguments: Arguments = {}
        try:
            if pairs is None:
                raise HarvestRefused(error="badArgument", reason="the arguments cannot be read")
            arguments = read_arguments(pairs)
            second, parts = self._dispatch(HarvestVerb(arguments["verb"]), arguments, name)
        except HarvestRefused as error:
            second, parts = error.second or self._now(), _error_parts(error)
            arguments = {} if error.error in _SAID_NOTHING else arguments
        told = "".join(f' {name}="{escape(value)}"' for name, value in arguments.items() if _is_repeatable(value))
        head = (
            f"{_BEGINNING}<responseDate>{Instant(second)}</responseDate>\n"
            f"<request{told}>{escape(self._base)}</request>\n"
        )
        return "".join((head, *parts, "</OAI-PMH>\n")).encode()

    def _dispatch(self, verb: HarvestVerb, arguments: Arguments, name: str) -> tuple[int, list[str]]:
        """Return the second of the answer, and its parts."""
        if verb in (HarvestVerb.IDENTIFIERS, HarvestVerb.RECORDS):
            page = self._list(arguments)
            return page.second, [*self._list_parts(verb, page, is_resumed="resumptionToken" in arguments)]
        second = self._now()
        if verb is HarvestVerb.IDENTIFY:
            return second, [*self._identity(name)]
        if verb is HarvestVerb.SETS:
            return second, [*self._sets(arguments.get("resumptionToken"))]
        if verb is HarvestVerb.FORMATS:
            return second, [*self._formats(arguments.get("identifier"))]
        check_format(arguments)
        record = self._find(arguments["identifier"])
        return second, ["<GetRecord>\n", *self._record(record), "</GetRecord>\n"]

    def _now(self) -> int:
        """Return the date of an answer that is no list.

        A harvester that continues from it loses nothing: its next list comes later, and has every change up to a later
        second.
        """
        return self._site.now.seconds

    def _list(self, arguments: Arguments) -> RecordPage:
        token = arguments.get("resumptionToken")
        if token is None:
            return self._harvesting.page(read_selection(arguments))
        resumed = read_token(token)
        return self._harvesting.page(resumed.selection, resumed)

    def _list_parts(self, verb: HarvestVerb, page: RecordPage, *, is_resumed: bool) -> Iterator[str]:
        yield f"<{verb}>\n"
        for record in page.records:
            yield from self._record(record) if verb is HarvestVerb.RECORDS else (self._header(record),)
        if page.following is not None or is_resumed:
            token = "" if page.following is None else write_token(page.following)
            yield f'<resumptionToken cursor="{page.cursor}">{escape(token)}</resumptionToken>\n'
        yield f"</{verb}>\n"

    def _record(self, record: HarvestedRecord) -> Iterator[str]:
        yield "<record>\n"
        yield self._header(record)
        item = record.item
        if item is not None and not record.is_deleted:
            yield f"<metadata>\n{dublin_core(item, self._site.persistent_url(item.labels))}</metadata>\n"
        yield "</record>\n"

    def _header(self, record: HarvestedRecord) -> str:
        status = ' status="deleted"' if record.is_deleted else ""
        sets = "".join(f"<setSpec>{each.spec}</setSpec>" for each in _sets_of(record))
        identifier = escape(self._identifiers.of(record.label))
        date = Instant(record.second)
        return f"<header{status}><identifier>{identifier}</identifier><datestamp>{date}</datestamp>{sets}</header>\n"

    def _find(self, identifier: str) -> HarvestedRecord:
        record = self._harvesting.record(self._identifiers.label(identifier))
        if record is None:
            raise unknown_identifier()
        return record

    def _formats(self, identifier: str | None) -> Iterator[str]:
        if identifier is not None and self._find(identifier).is_deleted:
            raise no_formats()
        yield f"<ListMetadataFormats>\n{_FORMAT}</ListMetadataFormats>\n"

    def _identity(self, name: str) -> Iterator[str]:
        yield (
            f"<Identify>\n<repositoryName>{escape(name)}</repositoryName>\n"
            f"<baseURL>{escape(self._base)}</baseURL>\n<protocolVersion>2.0</protocolVersion>\n"
            f"<adminEmail>{escape(self._mail)}</adminEmail>\n"
            f"<earliestDatestamp>{Instant(self._harvesting.earliest())}</earliestDatestamp>\n"
            "<deletedRecord>persistent</deletedRecord>\n<granularity>YYYY-MM-DDThh:mm:ssZ</granularity>\n"
        )
        if self._identifiers.is_described:
            yield self._description()
        yield "</Identify>\n"

    def _description(self) -> str:
        own = self._site.profile.service.rep
        sample = self._identifiers.of("example" if own is None else str(own))
        return (
            '<description><oai-identifier xmlns="http://www.openarchives.org/OAI/2.0/oai-identifier"'
            ' xsi:schemaLocation="http://www.openarchives.org/OAI/2.0/oai-identifier'
            ' http://www.openarchives.org/OAI/2.0/oai-identifier.xsd">'
            f"<scheme>oai</scheme><repositoryIdentifier>{self._identifiers.host}</repositoryIdentifier>"
            f"<delimiter>:</delimiter><sampleIdentifier>{escape(sample)}</sampleIdentifier>"
            "</oai-identifier></description>\n"
        )

    def _sets(self, token: str | None) -> Iterator[str]:
        """Yield the types and the first prefixes; then the other prefixes, in parts."""
        found = self._harvesting.prefixes("" if token is None else read_set_token(token), MOST_SETS + 1)
        if token is not None and not found:
            raise bad_token()
        yield "<ListSets>\n"
        if token is None:
            yield _set(PREFIXES, "By prefix: who named the item")
            yield _set(TYPES, "By type: what kind of thing it is")
            yield from (_set(RecordSet("type", kind), str(kind)) for kind in ResourceType)
        yield from (_set(RecordSet("prefix", prefix), prefix) for prefix in found[:MOST_SETS])
        if len(found) > MOST_SETS or token is not None:
            following = write_set_token(found[MOST_SETS - 1]) if len(found) > MOST_SETS else ""
            yield f"<resumptionToken>{escape(following)}</resumptionToken>\n"
        yield "</ListSets>\n"


def _set(which: RecordSet, name: str) -> str:
    return f"<set><setSpec>{which.spec}</setSpec><setName>{escape(name)}</setName></set>\n"


def _sets_of(record: HarvestedRecord) -> Iterator[RecordSet]:
    yield RecordSet("prefix", RepositoryName.parse(record.label).prefix)
    kind = None if record.item is None else record.item.metadata.resource_type
    if kind is not None:
        yield RecordSet("type", kind)


def _error_parts(error: HarvestRefused) -> list[str]:
    return [f'<error code="{error.error}">{escape(error.reason)}</error>\n']


def _is_repeatable(value: str) -> bool:
    """Return whether XML can repeat the value: a foreign token may be any text."""
    return value.isascii() and value.isprintable()


async def _pairs(request: Request) -> list[tuple[str, str]] | None:
    """Return the arguments in the address and, for a POST, in the body; None if they cannot be read."""
    parts = [request.scope["query_string"]]
    if request.method == "POST":
        _check_form(request.scope["headers"])
        parts.append(await read_body(request.scope["headers"], request.receive, _LONGEST_BODY))
    try:
        text = b"&".join(part for part in parts if part).decode("ascii")
        return parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MOST_ARGUMENTS)
    except ValueError:
        return None


def _check_form(headers: RawHeaders) -> None:
    try:
        given = only_value(headers, b"content-type") or ""
    except ValueError:
        given = ""
    if given.partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        raise UnsupportedMediaType(field="Content-Type", wanted="application/x-www-form-urlencoded")
