"""Checks for an Archive with all relations: last edition, translation, metadata, single files and their list.

The standard leaves them to each Archive (R 9.2), so they are checked only at the level `full`.
"""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Final
from urllib.parse import unquote

from ibi.check.rules.archive_checks import say_the_same
from ibi.check.rules.checking import (
    CheckedServer,
    CheckLevel,
    ClauseNotApplicable,
    KnownItem,
    Probe,
    ProbeResponse,
    Steps,
    advise,
    ask_query,
    ask_url,
    check,
    forms_of,
    qualified,
    require,
    url_request,
    write_query,
)
from ibi.check.rules.grammars import LANGUAGE_OF
from ibi.check.rules.pair_lists import PairList

_full = partial(check, level=CheckLevel.FULL)
_MOST_EDITIONS: Final = 10
_OAI_DC: Final = b"http://www.openarchives.org/OAI/2.0/oai_dc/"
_NO_SUCH_FILE: Final = "/ibi-check/no such file"


def _newest(server: CheckedServer) -> KnownItem:
    """Return an item without a next edition, preferably not the service."""
    items = sorted(server.items, key=lambda each: each.label == server.service)
    for item in items:
        if item.url is not None and "ibi.nextedition" not in item.edition and "ibi.nextedition" not in item.plain:
            return item
    raise ClauseNotApplicable("no item is known that has a URL and no next edition: name one with --item")


def _only_edition(server: CheckedServer) -> KnownItem:
    """Return the same item, unless its answer names another last edition: only Example 9.8 judges that."""
    item = _newest(server)
    last, own = forms_of(item.edition, "ibi.lastedition"), item.forms
    if last is not None and own is not None and not set(last.labels) & set(own.labels):
        raise ClauseNotApplicable(f"the last edition of {own.labels[0]} is said to be {last.labels[0]}")
    return item


@_full("R Table 8.5")
def the_last_edition_is_offered(server: CheckedServer) -> Steps:
    """GetLastEdition is answered with the last edition, or with the next one on the way to it."""
    pairs = yield from ask_url(server, server.original().label, "GetLastEdition")
    known = {"url.lastedition", "ibi.lastedition", "ibi.nextedition"}
    require(known & set(pairs.values), f"there is none of {', '.join(sorted(known))}")


@_full("R Example 9.8")
def the_only_edition_is_the_last(server: CheckedServer) -> Steps:
    """Without a next edition the last edition is the item itself: `ibi.lastedition` is what `ibi` is."""
    item = _newest(server)
    pairs = yield from ask_url(server, item.label, "GetLastEdition")
    own = item.forms
    require("ibi.lastedition" in pairs or own is None, f"{item.label} has an ibi and no ibi.lastedition")
    last = forms_of(pairs, "ibi.lastedition")
    if last is not None and own is not None:
        require(set(last.labels) & set(own.labels), f"the last edition of {own.labels[0]} is {last.labels[0]}")


@_full("R 9.2")
def the_only_edition_has_the_same_url(server: CheckedServer) -> Steps:
    """Without a next edition, URL, type, state and time of the last edition are those of the item."""
    item = _only_edition(server)
    pairs = yield from ask_url(server, item.label, "GetLastEdition")
    for name in ("url", "contenttype", "state", "timestamp"):
        last, own = pairs.word(f"{name}.lastedition"), item.plain.word(name)
        require(last in (None, own) or own is None, f"{name}.lastedition is {last}, {name} is {own}")


@_full("R 10.2")
def editions_lead_to_the_last(server: CheckedServer) -> Steps:
    """From edition to edition one comes to the last, and never twice to one."""
    item = server.item(lambda each: "ibi.nextedition" in each.edition, "has a next edition in the answers")
    label, seen = item.label, {item.label.lower()}
    for _ in range(_MOST_EDITIONS):
        pairs = yield from ask_url(server, label, "GetLastEdition")
        following = forms_of(pairs, "ibi.nextedition")
        if following is None:
            advise(pairs.values, f"the edition {label} is in another Archive, and was not followed")
            require("url.lastedition" in pairs or "ibi.lastedition" in pairs, f"{label} has no last edition")
            return
        label = following.labels[0]
        require(label.lower() not in seen, f"{label} comes after itself")
        seen.add(label.lower())


@_full("R Example 9.10")
def metadata_is_offered(server: CheckedServer) -> Steps:
    """GetMetadata is answered with the URL of the metadata, or their IBI."""
    pairs = yield from ask_url(server, server.original().label, "GetMetadata")
    require({"url.metadata", "ibi.metadata"} & set(pairs.values), "there is neither url.metadata nor ibi.metadata")
    kind = pairs.word("contenttype.metadata")
    require(kind in (None, "Metadata"), f"contenttype.metadata is {kind}")


@_full("R Example 8.2")
def metadata_in_oai_dc_is_offered(server: CheckedServer) -> Steps:
    """GetMetadata(oai_dc) is answered with a URL of metadata in this format."""
    pairs = yield from ask_url(server, server.original().label, "GetMetadata(oai_dc)")
    url = pairs.word("url.metadata(oai_dc)")
    require(url is not None, "there is no url.metadata(oai_dc)")
    received = yield Probe(url or "", redirects=3, may_fail=True)
    advise(received.failure is None, f"{url} was not fetched: {received.failure}")
    require(received.is_success, f"the status of {url} is {received.status}")
    require(_OAI_DC in received.body, f"{url} is not in the format oai_dc: its namespace is not there")


@_full("R Example 9.5")
def metadata_of_the_last_edition_are_offered(server: CheckedServer) -> Steps:
    """Relations combine: without a next edition, the metadata of the last edition are those of the item."""
    item = _only_edition(server)
    own = yield from ask_url(server, item.label, "GetMetadata")
    both = yield from ask_url(server, item.label, "GetLastEdition GetMetadata")
    url = both.word("url.lastedition.metadata")
    known = {"url.lastedition.metadata", "ibi.lastedition.metadata", "ibi.lastedition"}
    require(known & set(both.values), f"there is none of {', '.join(sorted(known))}")
    expected = own.word("url.metadata")
    require(url in (None, expected) or expected is None, f"they are at {url}, not at {expected}")


@_full("R Table 8.4")
def verbs_are_joined_by_plus_or_blank(server: CheckedServer) -> Steps:
    """Verbs are joined by `+`, which is a blank in a value, or by `%20`."""
    label = server.original().label
    query = write_query(url_request(label, "GetLastEdition GetMetadata"))
    one = yield from ask_query(server, query)
    other = yield from ask_query(server, query.replace("%20GetMetadata", "+GetMetadata"))
    require(say_the_same(one, other), "the two are answered differently")


@_full("R Example 9.3")
def translations_are_listed(server: CheckedServer) -> Steps:
    """GetTranslation without a language is answered with all translations; asked for by its language each is there."""
    item = server.item(lambda each: bool(_languages(each.translations)), "has translations with URLs")
    for language in _languages(item.translations)[:3]:
        name = f"url.translation({language})"
        pairs = yield from ask_url(server, item.label, f"GetTranslation({language})")
        require(pairs.word(name) == item.translations.word(name), f"{name} is {pairs.word(name)} when asked for alone")


@_full("R Example 8.3")
def absent_translations_are_not_invented(server: CheckedServer) -> Steps:
    """A translation that does not exist has no URL."""
    item = server.item(lambda each: bool(_languages(each.translations)), "has translations with URLs")
    absent = next(each for each in ("wa", "kl", "so") if each not in _languages(item.translations))
    pairs = yield from ask_url(server, item.label, f"GetTranslation({absent})")
    require(f"url.translation({absent})" not in pairs, f"there is a URL of a translation into {absent}")


def _languages(pairs: PairList) -> list[str]:
    return [found[1] for name in pairs.values if (found := LANGUAGE_OF.fullmatch(name))]


@_full("R Example 9.11")
def single_files_are_found(server: CheckedServer) -> Steps:
    """A path is answered with the URL of that file; the path of a file that does not exist with no URL."""
    item = server.original()
    assert item.url is not None
    absent = yield from ask_url(server, item.label, path=_NO_SUCH_FILE)
    require("url" not in absent, f"the file {_NO_SUCH_FILE} has a URL: {absent.word('url')}")
    name = unquote(item.url.partition("?")[0].rpartition("/")[2])
    pairs = yield from ask_url(server, item.label, path=f"/{name}")
    if not name or "url" not in pairs:  # a URL need not end in the name of a file
        raise ClauseNotApplicable("no name of a file of an item is known")
    require(pairs.word("url") == item.url, f"the file {name} of the item has the URL {pairs.word('url')}")


@_full("R Example 9.12")
def the_list_of_files_is_found(server: CheckedServer) -> Steps:
    """GetFileList is answered with the URL of a page that lists the files, which can be fetched."""
    item = server.original()
    url = yield from _file_list(server, item)
    require(url is not None, "there is no url")
    require(url != item.url, "its URL is that of the item itself")
    received: ProbeResponse = yield Probe(url or "", redirects=3, may_fail=True)
    advise(received.failure is None, f"{url} was not fetched: {received.failure}")
    require(received.is_success, f"the status of {url} is {received.status}")


def _file_list(server: CheckedServer, item: KnownItem) -> Generator[Probe, ProbeResponse, str | None]:
    return (yield from ask_url(server, item.label, "GetFileList")).word("url")


@_full("R Example 8.6")
def the_list_of_files_wins_over_a_path(server: CheckedServer) -> Steps:
    """With a path and GetFileList, the list is answered; the place of GetFileList among the verbs is indifferent."""
    item = server.original()
    url = yield from _file_list(server, item)
    with_path = yield from ask_url(server, item.label, "GetFileList", _NO_SUCH_FILE)
    require(with_path.word("url") == url, f"with a path the URL is {with_path.word('url')}")
    first = yield from ask_url(server, item.label, "GetFileList GetMetadata")
    last = yield from ask_url(server, item.label, "GetMetadata GetFileList")
    require(_urls(first) == _urls(last), "before and after GetMetadata it means different things")


def _urls(pairs: PairList) -> dict[str, str]:
    return dict(qualified(pairs, "url"))
