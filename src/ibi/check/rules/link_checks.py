"""Checks of persistent URLs, as a reader's browser sends them to a resolver (R 8.1): whether and where they lead.

A resolver is judged only by the requested links, or by the answers of an Archive at the same place, if there is one.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from functools import partial
from typing import Final

from ibi.check.rules.checking import (
    RESOLVER_SERVICE,
    CheckedServer,
    CheckLevel,
    ClauseBroken,
    ClauseNotApplicable,
    KnownItem,
    Probe,
    ProbeResponse,
    ServiceRole,
    Steps,
    advise,
    ask_url,
    check,
    require,
)
from ibi.check.rules.grammars import IBIP, LANGUAGE_OF, REPOSITORY, fault_of_url

_minimal = partial(check, role=ServiceRole.RESOLVER)
_full = partial(check, role=ServiceRole.RESOLVER, level=CheckLevel.FULL)
_UNKNOWN: Final = "example.org/ibi-check/1996/02.29.12.34.56"
_MODIFIERS: Final = ("!+", "!+:", "!:+", "!+:+", "+", "+!", "+:", "+!:", "+:+", "+!:+", ":+")
"""R Table 8.2 without the modifiers that every item has: `:`, `!` and `!:`."""
_OUTSIDE: Final = (":!", "!!", "::", "!+!", "+!+")
"""Modifiers that R Table 8.1 does not derive."""
_OAI_DC: Final = b"http://www.openarchives.org/OAI/2.0/oai_dc/"
_SERVER_ERROR: Final = 500
_NOT_FOUND: Final = 404
_METADATA: Final = ("GetMetadata", "url.metadata")
_LAST: Final = ("GetLastEdition", "url.lastedition")
_BOTH: Final = ("GetLastEdition GetMetadata", "url.lastedition.metadata")
_DUBLIN_CORE: Final = ("GetMetadata(oai_dc)", "url.metadata(oai_dc)")
_LAST_DUBLIN_CORE: Final = ("GetLastEdition GetMetadata(oai_dc)", "url.lastedition.metadata(oai_dc)")
_FILE_LIST: Final = ("GetFileList", "url")
"""The request of a link: the verbs, and the pair by which an Archive offers the target."""

Location = Generator[Probe, ProbeResponse, str]


def _follow(target: str, **headers: str) -> Location:
    """Return the target of a link."""
    received = yield Probe(f"/{target}", headers=tuple((n.replace("_", "-"), v) for n, v in headers.items()))
    require(received.is_redirect, f"/{target} leads nowhere: status {received.status}")
    return received.location


def _follow_offered(server: CheckedServer, label: str, rest: str, verbs: str, name: str) -> Location:
    """Return the target of a link that an Archive may leave out: `name` in its answer to `verbs`.

    If the link leads nowhere, that is the resolver's fault only if the Archive offers the target.
    """
    received = yield Probe(f"/{label}{rest}")
    if received.is_redirect:
        return received.location
    if server.service is None:
        is_offered = received.status != _NOT_FOUND
    else:
        is_offered = name in (yield from ask_url(server, label, verbs))
    if not is_offered:
        raise ClauseNotApplicable(f"no Archive is known to offer `{name}` of {label}")
    raise ClauseBroken(f"/{label}{rest} leads nowhere: status {received.status}")


def _judge_equal(server: CheckedServer, one: str, wanted: tuple[str, str], other: str, said: str) -> Steps:
    """Require that two spellings of a link have one target, which an Archive may leave out. `said` is the fault, with
    both targets."""
    label = server.link()
    first = yield from _follow_offered(server, label, one, *wanted)
    second = yield from _follow(f"{label}{other}")
    require(first == second, said.format(first, second))


def _judge_alert(target: str, **headers: str) -> Steps:
    """Require that a link leads nowhere, and that its reader gets an explanation."""
    received = yield Probe(f"/{target}", headers=tuple((n.replace("_", "-"), v) for n, v in headers.items()))
    require(not received.is_redirect, f"/{target} leads to {received.location}")
    require(received.status < _SERVER_ERROR or received.body, f"/{target} fails with status {received.status}")
    require(received.body, f"/{target} is answered with nothing a reader could read")
    advise(not received.is_success, f"/{target} is an alert with a status of success: caches and robots keep it")


@_minimal("R 8.1")
def a_link_leads_somewhere(server: CheckedServer) -> Steps:
    """A persistent URL of an item sends the browser on, to an absolute URL."""
    for label in server.links if server.service is None else [server.link()]:
        location = yield from _follow(label)
        require(fault_of_url(location) is None, f"it sends to {location!r}, which is no absolute URL")


@_minimal("R Figure 8.1")
def what_it_leads_to_is_there(server: CheckedServer) -> Steps:
    """The browser gets the item from where the link leads."""
    location = yield from _follow(server.link())
    received = yield Probe(location, headers=(("Range", "bytes=0-0"),), redirects=3, may_fail=True)
    advise(received.failure is None, f"{location} was not fetched: {received.failure}")
    require(received.status not in (404, 410) and received.status < _SERVER_ERROR, f"its status is {received.status}")


@_minimal("R Example 8.1")
def both_forms_lead_to_one_place(server: CheckedServer) -> Steps:
    """The two forms of a label lead to the same place."""
    item = server.item(
        lambda each: each.label in server.links and each.forms is not None and len(each.forms.labels) == 2,
        "has both forms of a label",
    )
    assert item.forms is not None
    yield from _judge_same_place(*item.forms.labels)


@_minimal("G 6")
def links_with_repository_names_ignore_case(server: CheckedServer) -> Steps:
    """A link with a repository name in upper case is the same link."""
    label = _first(server, REPOSITORY)
    yield from _judge_same_place(label, label.upper())


@_minimal("G 7")
def links_with_ibips_ignore_case(server: CheckedServer) -> Steps:
    """A link with an IBIp in lower case is the same link."""
    label = _first(server, IBIP)
    yield from _judge_same_place(label, label.lower())


def _first(server: CheckedServer, form: re.Pattern[str]) -> str:
    """Return the first label of that form for which the resolver leads somewhere."""
    known = [label for item in server.items if item.label in server.links and item.forms for label in item.forms.labels]
    for label in (*server.links, *known):
        if form.fullmatch(label):
            return label
    raise ClauseNotApplicable("no link with such a label is known: name one with --item")


def _judge_same_place(label: str, other: str) -> Steps:
    one, two = (yield from _follow(label)), (yield from _follow(other))
    require(one == two, f"/{label} leads to {one}, /{other} to {two}")


@_minimal("R 8.2")
def unknown_labels_get_an_alert(server: CheckedServer) -> Steps:
    """A link to an item that does not exist leads nowhere; its reader gets an alert."""
    yield from _judge_alert(_UNKNOWN)


@_minimal("R Table 8.1")
def links_outside_the_grammar_get_an_alert(server: CheckedServer) -> Steps:
    """A link whose modifier is outside the grammar leads nowhere."""
    label = server.link()
    for modifier in _OUTSIDE:
        yield from _judge_alert(f"{label}{modifier}")


@_full("R Table B.1")
def codes_of_languages_are_checked(server: CheckedServer) -> Steps:
    """A language or country that the table does not have gets an alert."""
    label = server.link()
    for code in ("xq", "pt-XQ"):
        yield from _judge_alert(f"{label}+({code})")


@_minimal("R Table 8.3")
def foreign_pairs_do_not_disturb(server: CheckedServer) -> Steps:
    """Pairs that are not for the resolver change nothing in where a link leads, beyond being handed on to it."""
    label = server.link()
    plain, more = (yield from _follow(label)), (yield from _follow(f"{label}?x-ibi-check=1"))
    require(more.partition("?")[0] == plain.partition("?")[0], f"with a pair of its own the link leads to {more}")


@_minimal("R 5.2")
def originals_can_be_demanded(server: CheckedServer) -> Steps:
    """`ibiurl.requireditemstatus=Original` leads to the Original."""
    item = server.item(
        lambda each: each.label in server.links and each.state == "Original" and each.url is not None,
        "is an Original with a URL",
    )
    location = yield from _follow(f"{item.label}?ibiurl.requireditemstatus=Original")
    require(location == item.url, f"it leads to {location}, and the Original is at {item.url}")


@_minimal("R 6")
def messages_to_the_resolver_are_sent_with_get_only(server: CheckedServer) -> Steps:
    """A message to the resolver that is sent with another method than GET is refused."""
    target = f"/{RESOLVER_SERVICE}?servicesubject=inclusionConfirmationRequest"
    received = yield Probe(target, method="POST")
    require(not received.is_success, f"POST is answered with status {received.status}")


@_minimal("R 6.1")
def subjects_of_archives_are_no_services_of_the_resolver(server: CheckedServer) -> Steps:
    """The resolver answers no message that is for Archives."""
    received = yield Probe(f"/{RESOLVER_SERVICE}?servicesubject=inclusionConfirmationRequest")
    require(b"confirmation yes" not in received.body, "it confirms an inclusion as if it were an Archive")


@_full("R Table 8.2")
def all_modifiers_are_understood(server: CheckedServer) -> Steps:
    """`:`, `!` and `!:` lead somewhere for every item; the other eleven modifiers do, or get an alert."""
    label = server.link()
    for modifier, wanted in ((":", _METADATA), ("!", _LAST), ("!:", _BOTH)):
        yield from _follow_offered(server, label, modifier, *wanted)
    for modifier in _MODIFIERS:
        received = yield Probe(f"/{label}{modifier}", headers=(("Accept-Language", "en, pt;q=0.5"),))
        require(received.status < _SERVER_ERROR, f"/{label}{modifier} fails with status {received.status}")


@_full("R Example 8.2")
def links_lead_to_metadata(server: CheckedServer) -> Steps:
    """`:` leads to the metadata, `:(oai_dc)` to metadata in this format."""
    label = server.link()
    plain, metadata = (yield from _follow(label)), (yield from _follow_offered(server, label, ":", *_METADATA))
    require(metadata != plain, "the metadata are where the item is")
    location = yield from _follow_offered(server, label, ":(oai_dc)", *_DUBLIN_CORE)
    received = yield Probe(location, redirects=3, may_fail=True)
    advise(received.failure is None, f"{location} was not fetched: {received.failure}")
    require(_OAI_DC in received.body, f"{location} is not in the format oai_dc")


def _find_translated(server: CheckedServer) -> KnownItem:
    def fits(item: KnownItem) -> bool:
        return len([name for name in item.translations.values if LANGUAGE_OF.fullmatch(name)]) > 1

    return server.item(fits, "has translations into two languages")


@_full("R Example 8.3")
def links_lead_to_translations(server: CheckedServer) -> Steps:
    """`+` leads to the translation that the browser prefers, `+(xx)` to that language whatever it prefers; if there is
    none, a notice says so."""
    item = _find_translated(server)
    urls = {
        found[1]: item.translations.word(name) or ""
        for name in item.translations.values
        if (found := LANGUAGE_OF.fullmatch(name))
    }
    first, second = list(urls)[:2]
    for language in (first, second):
        location = yield from _follow(f"{item.label}+", Accept_Language=language)
        require(location == urls[language], f"a reader of {language} gets {location}")
    location = yield from _follow(f"{item.label}+({first})", Accept_Language=second)
    require(location == urls[first], f"+({first}) leads a reader of {second} to {location}")
    absent = next(each for each in ("wa", "kl", "so") if each not in urls)
    yield from _judge_alert(f"{item.label}+({absent})")


@_full("R Example 8.4")
def links_lead_to_the_last_edition(server: CheckedServer) -> Steps:
    """`!` leads to where a link to the last edition leads."""
    item = server.item(lambda each: "ibi.nextedition" in each.edition, "has a next edition in the answers")
    own, last = (yield from _follow(item.label)), (yield from _follow(f"{item.label}!"))
    require(own != last, f"/{item.label}! leads to the edition that it began with")


@_full("R Example 8.5")
def verbs_are_modifiers(server: CheckedServer) -> Steps:
    """A list of verbs in the query is what the modifiers are."""
    verbs = "?ibiurl.verblist=GetLastEdition+GetMetadata(oai_dc)"
    yield from _judge_equal(server, "!:(oai_dc)", _LAST_DUBLIN_CORE, verbs, "!:(oai_dc) leads to {}, the verbs to {}")


@_full("R Table 8.4")
def verbs_in_links_are_joined_by_plus_or_blank(server: CheckedServer) -> Steps:
    """Verbs in a link are joined by `+` or by `%20`."""
    by_plus, by_blank = (f"?ibiurl.verblist=GetLastEdition{sign}GetMetadata" for sign in ("+", "%20"))
    yield from _judge_equal(server, by_plus, _BOTH, by_blank, "joined by + they lead to {}, by %20 to {}")


@_full("R Table 8.5")
def each_verb_has_its_synonym(server: CheckedServer) -> Steps:
    """GetMetadata is `:`, GetLastEdition is `!`."""
    for modifier, wanted in ((":", _METADATA), ("!", _LAST)):
        verb = wanted[0]
        said = f"{modifier} leads to {{}}, {verb} to {{}}"
        yield from _judge_equal(server, modifier, wanted, f"?ibiurl.verblist={verb}", said)


@_full("R Table 8.8")
def modifier_and_verbs_are_united(server: CheckedServer) -> Steps:
    """Modifier and verbs are united, the modifier first: `!` with GetMetadata is `!:`."""
    verb = "!?ibiurl.verblist=GetMetadata"
    yield from _judge_equal(server, "!:", _BOTH, verb, "!: leads to {}, ! with GetMetadata to {}")


@_full("R Example 8.6")
def links_lead_to_the_list_of_files(server: CheckedServer) -> Steps:
    """GetFileList leads to a list of the item's files, or to a page that says that it is not shown."""
    label = server.link()
    plain = yield from _follow(label)
    listed = yield from _follow_offered(server, label, "?ibiurl.verblist=GetFileList", *_FILE_LIST)
    require(plain != listed, "the list is where the item is")


@_full("R Example 8.7")
def links_lead_to_single_files(server: CheckedServer) -> Steps:
    """A path leads to that file of the item; the path of a file that does not exist to an alert."""
    label = server.link()
    plain = yield from _follow(label)
    name = plain.partition("?")[0].rpartition("/")[2]
    yield from _judge_alert(f"{label}/ibi-check-no-such-file.txt")
    received = yield Probe(f"/{label}/{name}")
    if not name or received.status == _NOT_FOUND:  # the target of a link need not end in the name of a file
        raise ClauseNotApplicable("no name of a file of an item is known")
    require(received.location == plain, f"the file {name} is found at {received.location}, not at {plain}")
