"""Find out what a server is, and what there is to ask about: steps as those of a check, made before the checks.

Labels come from what the command was given, from the service itself, and from what the server offers for harvesting:
its feed of changes, OAI-PMH, its site map, its first page. Any text will do: labels are recognised by their grammar.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from typing import Final

from ibi.conformance.checking import RESOLVER_SERVICE, CheckedServer, CheckLevel, KnownItem, url_request
from ibi.conformance.grammars import LABEL_IN_TEXT, REPOSITORY, fault_of_address
from ibi.conformance.strict_pairs import PairList, read_pairs
from ibi.conformance.wire import Probe, ProbeResponse, write_query

_PAGES: Final = ("/api/changes?most=200", "/oai?verb=ListIdentifiers&metadataPrefix=oai_dc", "/sitemap.xml", "/")
_MOST_SURVEYED: Final = 12
"""Items that are asked about, three questions each: with 0.1 s for a question that is four seconds."""
_MOST_LABELS: Final = 200
_MOST_SERVICES: Final = 12
"""Labels of a page that are tried as that of the service."""
_MOST_LINKS: Final = 6

Survey = Generator[Probe, ProbeResponse, None]


class NotSpoken(Exception):
    """The server does not speak the protocol, and why that is believed."""


def survey(server: CheckedServer, given: Sequence[str]) -> Survey:
    """Recognise what is asked to be checked, then learn its items. `NotSpoken` if there is neither."""
    found = [*given]
    first = yield Probe("/" if server.service is None else f"/{server.service}", may_fail=True)
    if first.failure is not None:
        raise NotSpoken(first.failure)
    found += yield from _offered_labels()
    found = list(dict.fromkeys(found))
    if server.service is None and not server.is_resolver:
        yield from _recognise(server, found)
    elif server.service is not None and not (yield from _is_archive(server.service)):
        received = yield _confirmation(server.service)
        place = f"it sends messages on to {received.location}" if received.is_redirect else ""
        raise NotSpoken(place or f"it has no Archive whose service is {server.service}")
    if server.service is not None:
        yield from _learn_items(server, found, given)
    if server.is_resolver:
        yield from _learn_links(server, found, given)
        if not server.links and not (yield from _is_resolver()):
            raise NotSpoken("it answers as no resolver does")


def _offered_labels() -> Generator[Probe, ProbeResponse, list[str]]:
    """Labels in what the server offers; those of deleted items first, because they are rare and wanted."""
    labels: list[str] = []
    for page in _PAGES:
        received = yield Probe(page, may_fail=True)
        if received.failure is None and received.is_success:
            labels += _deleted_labels(received.body) + labels_in(received.body)
        if len(labels) >= 3:
            break
    return labels[:_MOST_LABELS]


def labels_in(body: bytes) -> list[str]:
    found = dict.fromkeys(match[0] for match in LABEL_IN_TEXT.finditer(body.decode("latin-1")))
    return [label for label in found if REPOSITORY.fullmatch(label) or fault_of_address(label) is None]


def _deleted_labels(body: bytes) -> list[str]:
    """Of the feed of changes that this software has; nothing of any other page."""
    try:
        changes = json.loads(body)["changes"]
        last = {str(change["label"]): str(change["kind"]) for change in changes}
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
    deleted = [label for label, kind in last.items() if kind == "deleted"]
    return [label for label in deleted if REPOSITORY.fullmatch(label)][:2]


def _recognise(server: CheckedServer, labels: Sequence[str]) -> Survey:
    server.is_resolver = yield from _is_resolver()
    for label in labels[:_MOST_SERVICES]:
        if (yield from _is_archive(label)):
            server.service = label
            return
    if not server.is_resolver:
        raise NotSpoken("neither an Archive nor a resolver answers there; name its service in the URL if it has one")


def _is_archive(service: str) -> Generator[Probe, ProbeResponse, bool]:
    """Whether a service answers under that label, well or badly. What it answers is judged later."""
    received = yield _confirmation(service)
    if received.failure is not None or not received.is_success:
        return False
    return received.media_type == "text/plain" or b"confirmation" in received.body[:200]


def _confirmation(service: str) -> Probe:
    return Probe(f"/{service}?servicesubject=inclusionConfirmationRequest", may_fail=True)


def _is_resolver() -> Generator[Probe, ProbeResponse, bool]:
    """Whether a resolver's service answers. The subject is one of Archives, which a resolver can but refuse."""
    received = yield _confirmation(RESOLVER_SERVICE)
    return received.failure is None and received.media_type == "text/plain" and b"confirmation yes" not in received.body


def _learn_items(server: CheckedServer, found: Sequence[str], given: Sequence[str]) -> Survey:
    assert server.service is not None
    wanted = [*given, server.service, *found]
    known: set[str] = set()
    for label in dict.fromkeys(wanted):
        if label.lower() in known or len(server.items) >= max(_MOST_SURVEYED, len(given)):
            continue
        item = yield from _learn_item(server, label)
        if item is not None:
            server.items.append(item)
            known |= {each.lower() for each in (label, *(item.forms.labels if item.forms else ()))}


def _learn_item(server: CheckedServer, label: str) -> Generator[Probe, ProbeResponse, KnownItem | None]:
    plain = yield from _told(server, label)
    if not plain.values:
        return None
    nothing = PairList({}, ())
    if server.level is CheckLevel.MINIMAL or "url" not in plain:
        return KnownItem(label, plain, nothing, nothing)
    edition = yield from _told(server, label, "GetLastEdition")
    return KnownItem(label, plain, edition, (yield from _told(server, label, "GetTranslation")))


def _told(server: CheckedServer, label: str, verbs: str = "") -> Generator[Probe, ProbeResponse, PairList]:
    query = write_query(url_request(label, verbs))
    received = yield Probe(f"/{server.service}?{query}", may_fail=True)
    return read_pairs(received.body if received.failure is None and received.is_success else b"")


def _learn_links(server: CheckedServer, found: Sequence[str], given: Sequence[str]) -> Survey:
    """Labels that lead somewhere, rather not that of a service: what an Archive at the same place has, or any."""
    held = [item.label for item in server.items if item.url is not None and item.label != server.service]
    for label in list(dict.fromkeys((*given, *held, *found)))[: max(_MOST_LINKS, len(given))]:
        received = yield Probe(f"/{label}", may_fail=True)
        if received.failure is None and received.is_redirect:
            server.links.append(label)
