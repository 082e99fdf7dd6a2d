"""The survey before the checks: what the server is, and which items and links it has.

It takes labels from the command, from the service itself, and from the server's offers to harvesters: its feed of
changes, OAI-PMH, its site map, its first page. Any text works, because labels are recognised by their grammar.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from typing import Final

from ibi.check.rules.checking import (
    RESOLVER_SERVICE,
    CheckedServer,
    CheckLevel,
    KnownItem,
    Probe,
    ProbeResponse,
    url_request,
    write_query,
)
from ibi.check.rules.grammars import LABEL_IN_TEXT, REPOSITORY, fault_of_address
from ibi.check.rules.pair_lists import PairList, read_pairs

_PAGES: Final = ("/api/changes?most=200", "/oai?verb=ListIdentifiers&metadataPrefix=oai_dc", "/sitemap.xml", "/")
_MOST_SURVEYED: Final = 12
"""Items to ask about, with three requests each. At 0.1 s per request that is about four seconds."""
_MOST_LABELS: Final = 200
_MOST_SERVICES: Final = 12
"""Labels of a page that are tried as the label of the service."""
_MOST_LINKS: Final = 6
_GONE: Final = 410

Survey = Generator[Probe, ProbeResponse, None]


class NotSpoken(Exception):
    """The server does not speak the protocol, and why that is believed."""


class NotEnoughTime(Exception):
    """The time for all checks was over before it was known what the server is."""


def survey(server: CheckedServer, given: Sequence[str]) -> Survey:
    """Recognise the services to check, then learn their items. Raise `NotSpoken` if there is neither an Archive nor a
    resolver."""
    found = [*given]
    first = yield Probe("/" if server.service is None else f"/{server.service}", may_fail=True)
    if first.failure is not None:
        raise NotSpoken(first.failure)
    found += yield from _offered_labels()
    found = list(dict.fromkeys(found))
    if server.service is None and not server.is_resolver:
        yield from _recognise(server, found)
    elif server.service is not None:
        yield from _require_archive(server.service)
    if server.service is not None:
        yield from _learn_items(server, found, given)
    if server.is_resolver:
        yield from _learn_links(server, found, given)
        if not server.links and not (yield from _is_resolver()):
            raise NotSpoken("it answers as no resolver does")


def _offered_labels() -> Generator[Probe, ProbeResponse, list[str]]:
    """Return the labels in the server's offers. Those of deleted items come first, because they are rare and needed."""
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
    """Return labels of deleted items from this software's feed of changes; none from any other page."""
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


def _require_archive(service: str) -> Survey:
    if not (yield from _is_archive(service)):
        received = yield _confirmation(service)
        place = f"it sends messages on to {received.location}" if received.is_redirect else ""
        raise NotSpoken(place or f"it has no Archive whose service is {service}")


def _is_archive(service: str) -> Generator[Probe, ProbeResponse, bool]:
    """Return whether a service answers under that label, in any quality. Later checks judge its answers."""
    received = yield _confirmation(service)
    if received.failure is not None or not received.is_success:
        return False
    return received.media_type == "text/plain" or b"confirmation" in received.body[:200]


def _confirmation(service: str) -> Probe:
    return Probe(f"/{service}?servicesubject=inclusionConfirmationRequest", may_fail=True)


def _is_resolver() -> Generator[Probe, ProbeResponse, bool]:
    """Return whether a resolver's service answers. The request is meant for Archives, so a resolver refuses it."""
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
    plain = yield from _read_answer(server, label)
    if not plain.values:
        return None
    nothing = PairList({}, ())
    if server.level is CheckLevel.MINIMAL or "url" not in plain:
        return KnownItem(label, plain, nothing, nothing)
    edition = yield from _read_answer(server, label, "GetLastEdition")
    return KnownItem(label, plain, edition, (yield from _read_answer(server, label, "GetTranslation")))


def _read_answer(server: CheckedServer, label: str, verbs: str = "") -> Generator[Probe, ProbeResponse, PairList]:
    query = write_query(url_request(label, verbs))
    received = yield Probe(f"/{server.service}?{query}", may_fail=True)
    return read_pairs(received.body if received.failure is None and received.is_success else b"")


def _learn_links(server: CheckedServer, found: Sequence[str], given: Sequence[str]) -> Survey:
    """Collect labels for which the resolver leads somewhere, preferably not that of a service.

    They come from an Archive at the same place, or from any page. A resolver without an Archive is checked only by the
    named items: other labels on its pages may not exist.
    """
    is_alone = server.service is None and bool(given)
    held = [item.label for item in server.items if item.url is not None and item.label != server.service]
    known = () if is_alone else (*held, *found)
    for label in list(dict.fromkeys((*given, *known)))[: max(_MOST_LINKS, len(given))]:
        received = yield Probe(f"/{label}", may_fail=True)
        is_wanted = received.is_redirect or (is_alone and received.status != _GONE)
        if received.failure is None and is_wanted:
            server.links.append(label)
