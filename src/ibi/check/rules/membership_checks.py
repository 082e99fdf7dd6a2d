"""Checks of a resolver's requests to an Archive, with the checker in the role of the Archive (R 7.2, R 8.2, R 10).

Every check here changes something at the resolver: the inclusion of an Archive, or a count. They run only on request,
with a label and a key that the resolver's administrator registered for this purpose. They run in this order, and the
last ones exclude the checker again.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from ipaddress import ip_address
from typing import Final
from urllib.parse import unquote, unquote_to_bytes

from ibi.check.rules.checking import (
    RESOLVER_SERVICE,
    Awaited,
    CheckedServer,
    CheckLevel,
    ClauseNotApplicable,
    HeardRequest,
    MemberIdentity,
    Probe,
    ProbeResponse,
    ServiceRole,
    Steps,
    advise,
    check,
    encode_value,
    require,
    write_query,
)
from ibi.check.rules.probe_archive import FILE, LATIN_FILE, ProbeArchive

_change = partial(check, role=ServiceRole.RESOLVER, changes=True)
_change_full = partial(check, role=ServiceRole.RESOLVER, level=CheckLevel.FULL, changes=True)
_ASKED: Final = frozenset(
    {
        "servicesubject",
        "clientinformation.ipaddress",
        "parsedibiurl.filepath",
        "parsedibiurl.ibi",
        "parsedibiurl.verblist",
    }
)
_THANKED: Final = frozenset(
    {"servicesubject", "clientinformation.ipaddress", "contenttype", "state", "url", "url.persistent", "urlkey"}
)
_OBLIGATORY: Final = ("archiveserviceibi", "archiveprotocol", "registrationkey")
"""Pairs of R Table 7.2 that are left out in turn. Without the others, the Archive might not be reachable at all."""


def _member(server: CheckedServer) -> tuple[MemberIdentity, ProbeArchive]:
    if server.member is None:
        raise ClauseNotApplicable("the checker is no Archive of this resolver: give --archive-service and its key")
    return server.member, ProbeArchive(server.member.service, server.member.address)


def _include_archive(server: CheckedServer) -> ProbeArchive:
    _, archive = _member(server)
    if not server.is_included:
        raise ClauseNotApplicable("the resolver did not include the checker")
    return archive


def _membership_query(member: MemberIdentity, subject: str, without: str = "", key: str | None = None) -> str:
    """Return the query with the eight pairs of R Table 7.2."""
    pairs = [
        ("servicesubject", subject),
        ("archiveaddress", member.address),
        ("archiveserviceibi", member.service),
        ("archiveip", member.ip),
        ("archiveprotocol", "HTTP"),
        ("archiveplatformversion", "ibi-check"),
        ("archiveadmemailaddress", "ibi-check@example.org"),
        ("registrationkey", member.key if key is None else key),
    ]
    return write_query([pair for pair in pairs if pair[0] != without])


def exclusion(member: MemberIdentity) -> Probe:
    """Return the request that ends the membership of the checker."""
    return Probe(f"/{RESOLVER_SERVICE}?{_membership_query(member, 'exclusionRequest')}", is_last=True)


def _message(query: str) -> Probe:
    return Probe(f"/{RESOLVER_SERVICE}?{query}")


def _is_included(received: ProbeResponse) -> bool:
    return received.is_success and b"status.archive included" in received.body


@_change("R 7.1")
def a_wrong_key_includes_no_one(server: CheckedServer) -> Steps:
    """An Archive with another key than the registered one is not included."""
    member, _ = _member(server)
    wrong = "9" * 11 if member.key != "9" * 11 else "8" * 11
    received = yield _message(_membership_query(member, "inclusionRequest", key=wrong))
    require(not _is_included(received), "it is included")


@_change("R Table 7.2")
def all_pairs_are_obligatory(server: CheckedServer) -> Steps:
    """An inclusionRequest that lacks one of its pairs includes no one."""
    member, _ = _member(server)
    for name in _OBLIGATORY:
        received = yield _message(_membership_query(member, "inclusionRequest", without=name))
        require(not _is_included(received), f"without {name} it is included")


@_change("R Example 7.2")
def the_right_key_includes(server: CheckedServer) -> Steps:
    """The right key is answered with `status.archive included status.confirmation successful`."""
    member, _ = _member(server)
    received = yield _message(_membership_query(member, "inclusionRequest"))
    server.is_included = _is_included(received)
    require(received.is_success, f"the status is {received.status}")
    require(received.body.strip() == b"status.archive included status.confirmation successful", "the answer is another")


def _inclusion(server: CheckedServer) -> Generator[Probe, ProbeResponse, list[HeardRequest]]:
    """Return the requests that the Archive received while it was included."""
    _include_archive(server)
    member, _ = _member(server)
    received = yield _message(_membership_query(member, "inclusionRequest"))
    return list(received.heard)


@_change("R Figure 7.1")
def inclusion_asks_back(server: CheckedServer) -> Steps:
    """Before it answers an inclusion, the resolver asks the Archive back at the address it gave."""
    heard = yield from _inclusion(server)
    asked = [each for each in heard if each.subject == "inclusionConfirmationRequest"]
    require(asked, "no inclusionConfirmationRequest came")


@_change("R Example 7.4")
def confirmation_is_asked_with_one_pair(server: CheckedServer) -> Steps:
    """The inclusionConfirmationRequest has the subject and no other pair."""
    for each in (yield from _inclusion(server)):
        if each.subject == "inclusionConfirmationRequest":
            require(len(each.pairs()) == 1, f"it has more pairs: {each}")


def _link(
    target: str, awaited: Awaited = Awaited.ACKNOWLEDGMENT, language: str = ""
) -> Generator[Probe, ProbeResponse, ProbeResponse]:
    headers = (("Accept-Language", language),) if language else ()
    return (yield Probe(f"/{target}", headers=headers, awaited=awaited))


def _requests(received: ProbeResponse, subject: str = "urlRequest") -> list[HeardRequest]:
    return [each for each in received.heard if each.subject == subject]


def _first_request(received: ProbeResponse, label: str) -> HeardRequest:
    """Return the first urlRequest about that label. A resolver may ask about others, such as the service, by itself."""
    for each in _requests(received):
        if unquote(each.value("parsedibiurl.ibi") or "").lower() == label.lower():
            return each
    raise ClauseNotApplicable(f"no urlRequest about {label} reached the Archive of the checker")


@_change("R 7.2")
def an_included_archive_is_asked(server: CheckedServer) -> Steps:
    """An Archive that is included is asked about its items, at the base URL of its service."""
    archive = _include_archive(server)
    received = yield from _link(archive.first)
    found = _requests(received)
    require(found, "no urlRequest came")
    require(found[0].path.lower() == f"/{archive.service}".lower(), f"it was sent to {found[0].path}")


@_change("R 6.1")
def the_resolver_asks_with_get(server: CheckedServer) -> Steps:
    """All that the resolver sends to an Archive is sent with GET."""
    archive = _include_archive(server)
    received = yield from _link(archive.first)
    for each in received.heard:
        require(each.method == "GET", f"{each.method} was sent")


@_change("R Table 8.9")
def a_url_request_has_its_pairs(server: CheckedServer) -> Steps:
    """A urlRequest has the user's address and the label, and no pair that the table does not have."""
    archive = _include_archive(server)
    request = _first_request((yield from _link(archive.first)), archive.first)
    names = [name for name, _ in request.pairs()]
    require("clientinformation.ipaddress" in names, f"clientinformation.ipaddress is missing: {request}")
    require(len(names) == len(set(names)), f"a name comes twice: {request}")
    advise(set(names) <= _ASKED, f"the standard does not have {', '.join(sorted(set(names) - _ASKED))}")


@_change("R Table 8.10")
def addresses_of_users_are_passed_on(server: CheckedServer) -> Steps:
    """The user's address is an IP, or several with `%20` between them."""
    archive = _include_archive(server)
    request = _first_request((yield from _link(archive.first)), archive.first)
    sent = request.value("clientinformation.ipaddress") or ""
    for each in sent.split("%20"):
        require(_is_ip(unquote(each)), f"{sent!r} is no list of IPs")


@_change("R Example 8.9")
def the_readers_own_address_is_told(server: CheckedServer) -> Steps:
    """The Archive of an item gets the address of the reader who asks for it, whole, and the same in question and
    acknowledgment: it may decide by it (R 9.2)."""
    archive = _include_archive(server)
    received = yield from _link(archive.first)
    for each in (_first_request(received, archive.first), *_requests(received, "acknowledgment")):
        told = unquote(each.value("clientinformation.ipaddress") or "").partition(" ")[0]
        if not _is_ip(told):
            continue  # the two checks before cover this
        require(not ip_address(told).is_unspecified, f"it is told {told}, which is nobody's address: {each}")
        is_known = not received.client or ip_address(told) == ip_address(received.client)
        require(is_known, f"it is told {told}, and the reader is {received.client}: {each}")


def _is_ip(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


@_change("R Table 8.7")
def languages_are_not_passed_on(server: CheckedServer) -> Steps:
    """No Archive learns which languages a user prefers."""
    archive = _include_archive(server)
    for each in (yield from _link(f"{archive.second}+", language="pt-BR, pt;q=0.8")).heard:
        require("languagepreference" not in each.query.lower(), f"it is told: {each}")
        require("pt-br" not in unquote(each.query).lower(), f"it is told: {each}")


@_change("R Table 8.6")
def demands_for_originals_are_not_passed_on(server: CheckedServer) -> Steps:
    """No Archive learns that the Original is demanded."""
    archive = _include_archive(server)
    link = f"{archive.second}?ibiurl.requireditemstatus=Original"
    for each in _requests((yield from _link(link))):
        require("requireditemstatus" not in each.query.lower(), f"it is told: {each}")


@_change("R Table 6.1")
def values_are_encoded(server: CheckedServer) -> Steps:
    """What is special in a value is sent percent-encoded: a path with a blank and an accent."""
    archive = _include_archive(server)
    request = _first_request((yield from _link(f"{archive.first}{encode_value(FILE)}")), archive.first)
    sent = request.value("parsedibiurl.filepath") or ""
    require(sent, f"there is no parsedibiurl.filepath: {request}")
    require(all(0x21 <= ord(each) <= 0x7E for each in sent) and "+" not in sent, f"it is sent as {sent!r}")
    require(unquote(sent).lstrip("/") == FILE.lstrip("/"), f"{sent!r} is another path")


@_change("R Example 6.2")
def octets_of_a_path_are_passed_on(server: CheckedServer) -> Steps:
    """The octets of a path arrive as the link has them: `%f3` is an octet of a name in ISO 8859-1, and not UTF-8."""
    archive = _include_archive(server)
    request = _first_request((yield from _link(f"{archive.first}{LATIN_FILE}")), archive.first)
    sent = request.value("parsedibiurl.filepath") or ""
    is_same = unquote_to_bytes(sent).lstrip(b"/") == unquote_to_bytes(LATIN_FILE).lstrip(b"/")
    require(is_same, f"{LATIN_FILE} is sent as {sent!r}")


@_change("R 10.1")
def the_browser_is_sent_to_the_url(server: CheckedServer) -> Steps:
    """The browser is sent to the URL that the Archive gave."""
    archive = _include_archive(server)
    received = yield from _link(archive.first)
    require(received.location == archive.url(archive.first), f"it is sent to {received.location or received.status}")


def _thanks(server: CheckedServer) -> Generator[Probe, ProbeResponse, HeardRequest]:
    archive = _include_archive(server)
    received = yield from _link(archive.first)
    found = _requests(received, "acknowledgment")
    if not found:
        raise ClauseNotApplicable("no acknowledgment came")
    return found[0]


@_change("R 8.2")
def the_archive_is_thanked(server: CheckedServer) -> Steps:
    """The Archive whose URL was taken gets one acknowledgment."""
    archive = _include_archive(server)
    count = len(_requests((yield from _link(archive.first)), "acknowledgment"))
    require(count == 1, f"{count} came")


@_change("R Table 8.11")
def an_acknowledgment_has_its_pairs(server: CheckedServer) -> Steps:
    """An acknowledgment has the pairs of the table, with what the Archive had answered."""
    archive = _include_archive(server)
    thanks = yield from _thanks(server)
    missing = _THANKED - {name for name, _ in thanks.pairs()}
    require(not missing, f"{', '.join(sorted(missing))} is missing: {thanks}")
    expected = {"contenttype": "Data", "state": "Original", "url": archive.url(archive.first)}
    for name, value in expected.items():
        sent = unquote(thanks.value(name) or "")
        require(sent == value, f"{name} is {sent!r}, not {value!r}")


@_change("R Table 7.1")
def keys_come_back(server: CheckedServer) -> Steps:
    """The `urlkey` of an acknowledgment is that of the answer."""
    archive = _include_archive(server)
    key = (yield from _thanks(server)).value("urlkey")
    require(key == archive.key(archive.first), f"it is {key!r}, not {archive.key(archive.first)!r}")


@_change("R Example 8.9")
def an_acknowledgment_tells_the_link(server: CheckedServer) -> Steps:
    """`url.persistent` is the link that was followed."""
    archive = _include_archive(server)
    sent = unquote((yield from _thanks(server)).value("url.persistent") or "")
    is_link = sent.startswith(("http://", "https://")) and sent.lower().endswith(f"/{archive.first}".lower())
    require(is_link, f"it is {sent!r}")


@_change_full("R Example 8.8")
def modifiers_are_passed_on_as_verbs(server: CheckedServer) -> Steps:
    """Modifier and verbs of a link are passed on as one list of verbs, in their order."""
    archive = _include_archive(server)
    link = f"{archive.second}+?ibiurl.requireditemstatus=Original&ibiurl.verblist=GetMetadata"
    request = _first_request((yield from _link(link, Awaited.QUIET)), archive.second)
    verbs = unquote((request.value("parsedibiurl.verblist") or "").replace("+", " "))
    require(verbs == "GetTranslation GetMetadata", f"they are {verbs!r}")


@_change_full("R 10.2")
def next_editions_are_followed(server: CheckedServer) -> Steps:
    """`!:(oai_dc)` of an item with a next edition: that edition is asked for with the same verbs, and its metadata are
    found."""
    archive = _include_archive(server)
    received = yield from _link(f"{archive.first}!:(oai_dc)")
    asked = [
        unquote(each.value("parsedibiurl.verblist") or "").replace("+", " ")
        for each in _requests(received)
        if unquote(each.value("parsedibiurl.ibi") or "").lower() == archive.second.lower()
    ]
    require(asked, "the next edition is not asked for")
    require("GetLastEdition GetMetadata(oai_dc)" in asked, f"it is asked for with the verbs {asked[0]!r}")
    url = archive.url(archive.second, "metadata?format=oai_dc")
    require(received.location == url, f"it leads to {received.location or received.status}, not to {url}")


@_change_full("R Example 9.3")
def whole_answers_are_taken(server: CheckedServer) -> Steps:
    """Of an answer that was not filtered the resolver takes what was asked for: `:` leads to the metadata."""
    archive = _include_archive(server)
    received = yield from _link(f"{archive.first}:")
    require(received.location == archive.url(archive.first, "metadata"), f"it leads to {received.location}")


@_change_full("R Example 8.3")
def translations_are_chosen(server: CheckedServer) -> Steps:
    """`+` leads to the translation that the browser prefers."""
    archive = _include_archive(server)
    for language, name in (("pt-BR, pt;q=0.8", "item.pt.txt"), ("en", "item.txt")):
        received = yield from _link(f"{archive.second}+", language=language)
        url = archive.url(archive.second, name)
        require(received.location == url, f"a reader of {language} is sent to {received.location or received.status}")


@_change("R Algorithm 2")
def deleted_items_get_an_alert(server: CheckedServer) -> Steps:
    """A link to a deleted item gets an alert, and no Archive an acknowledgment."""
    archive = _include_archive(server)
    received = yield from _link(archive.deleted, Awaited.QUIET)
    require(not received.is_redirect and received.body, "it leads somewhere")
    require(not _requests(received, "acknowledgment"), "an acknowledgment came")


@_change("R Example 7.3")
def exclusion_is_confirmed(server: CheckedServer) -> Steps:
    """An exclusionRequest with the right key is answered with `status.archive excluded`."""
    _include_archive(server)
    member, _ = _member(server)
    received = yield exclusion(member)
    require(received.is_success, f"the status is {received.status}")
    require(received.body.strip() == b"status.archive excluded", "the answer is another")


@_change("R 7")
def an_excluded_archive_is_not_asked(server: CheckedServer) -> Steps:
    """An Archive that is excluded is not asked any more."""
    archive = _include_archive(server)
    received = yield from _link(archive.second, Awaited.QUIET)
    require(not _requests(received), "a urlRequest came")
