"""Checks for every Archive, even the smallest (R 6, R 9): its three messages, and how it reads them."""

from __future__ import annotations

from typing import Final

from ibi.check.rules.checking import (
    NOT_DIALLED,
    READER,
    CheckedServer,
    Probe,
    Steps,
    advise,
    ask_query,
    ask_url,
    check,
    forms_of,
    require,
    service_probe,
    url_request,
    write_query,
)
from ibi.check.rules.grammars import fault_of_key
from ibi.check.rules.pair_lists import PairList, read_pairs

_CONFIRMATION: Final = "servicesubject=inclusionConfirmationRequest"
_UNKNOWN: Final = ("example.org/ibi-check/1996/02.29.12.34.56", "LK47B6W/3UUUUU")
"""Labels that no Archive has: of a domain for examples, and of a loopback address."""


_SAYING: Final = frozenset({"archiveaddress", "contenttype", "error", "ibi", "state", "timestamp", "url"})
_MOST_FETCHED: Final = 3
"""Items to try until one is fetched. Each server that does not answer costs a timeout."""


def say_the_same(one: PairList, other: PairList) -> bool:
    """Return whether two answers agree. The key differs every time, and so may names that the standard does not
    have."""
    return _said(one) == _said(other)


def _said(pairs: PairList) -> dict[str, tuple[str, ...]]:
    return {name: words for name, words in pairs.values.items() if name.partition(".")[0] in _SAYING}


@check("R Example 7.4")
def inclusion_is_confirmed(server: CheckedServer) -> Steps:
    """An inclusionConfirmationRequest is answered with `confirmation yes`."""
    received = yield service_probe(server, _CONFIRMATION)
    require(received.is_success, f"the status is {received.status}")
    require(received.body.strip() == b"confirmation yes", "the answer is another")


@check("R Algorithm 1")
def subjects_are_told_apart(server: CheckedServer) -> Steps:
    """A urlRequest is answered with a list of URLs or with nothing, never with the answer to another subject."""
    assert server.service is not None
    pairs = yield from ask_url(server, server.service)
    require(not {"confirmation", "notice"} & set(pairs.values), "it gets the answer to another subject")
    received = yield service_probe(server, "servicesubject=noSuchSubject")
    said = read_pairs(received.body).values if received.is_success else {}
    require(not {"confirmation", "notice", "url"} & set(said), "a subject that does not exist is answered as another")


@check("R 6.1")
def pairs_come_in_any_order(server: CheckedServer) -> Steps:
    """The pairs of a request may come in any order."""
    pairs = url_request(server.original().label)
    one = yield from ask_query(server, write_query(pairs))
    other = yield from ask_query(server, write_query(pairs[::-1]))
    require(say_the_same(one, other), "the same pairs in another order are answered otherwise")


@check("R 6")
def messages_are_sent_with_get_only(server: CheckedServer) -> Steps:
    """A message that is sent with another method than GET is refused."""
    received = yield service_probe(server, _CONFIRMATION, method="POST")
    require(not received.is_success, f"POST is answered with status {received.status}, as GET is")


@check("R Example 6.1")
def an_item_is_found(server: CheckedServer) -> Steps:
    """A urlRequest about an item of the Archive is answered with pairs about that item."""
    item = server.original()
    pairs = yield from ask_url(server, item.label)
    forms = forms_of(pairs, "ibi")
    require("ibi" in pairs, "the answer has no pair `ibi`")
    require(forms is None or forms.names(item.label), f"the answer is about {pairs.word('ibi')}")


@check("R Table 6.1")
def values_are_decoded(server: CheckedServer) -> Steps:
    """Values may be percent-encoded: `%2F` in a label is the slash that it stands for."""
    label = server.original().label
    query = write_query(url_request(label))
    encoded = query.replace(f"parsedibiurl.ibi={label}", f"parsedibiurl.ibi={label.replace('/', '%2F')}")
    plain = yield from ask_query(server, query)
    require(say_the_same(plain, (yield from ask_query(server, encoded))), "an encoded label is not the label")


@check("R Example 9.1")
def foreign_pairs_are_ignored(server: CheckedServer) -> Steps:
    """Pairs that are not of the message are ignored, also if a known name is a part of theirs."""
    pairs = url_request(server.original().label)
    plain = yield from ask_query(server, write_query(pairs))
    before = [("xservicesubject", "inclusionConfirmationRequest"), ("parsedibiurl.ibi.x", _UNKNOWN[0])]
    more = yield from ask_query(server, write_query([*before, *pairs, ("x-ibi-check", "1")]))
    require(say_the_same(plain, more), "the answer changes with pairs that mean nothing")


@check("R Algorithm 2")
def nothing_is_said_of_unknown_labels(server: CheckedServer) -> Steps:
    """A urlRequest about a label that the Archive does not have is answered with nothing at all (lines 2 to 4)."""
    for label in _UNKNOWN:
        received = yield service_probe(server, write_query(url_request(label)))
        require(received.is_success, f"the status is {received.status}: to have no such item is no error")
        require(not received.body, "the body is not empty")


@check("R 9.1")
def the_service_is_an_item(server: CheckedServer) -> Steps:
    """The Archive's service is an item of the Archive itself."""
    assert server.service is not None
    pairs = yield from ask_url(server, server.service)
    require(pairs.values, "nothing is known of it")


@check("R 5.2")
def the_service_is_an_original(server: CheckedServer) -> Steps:
    """The Archive's service is an Original: it is never transferred."""
    assert server.service is not None
    pairs = yield from ask_url(server, server.service)
    state = pairs.word("state")
    require(state in (None, "Original"), f"its state is {state}")


@check("R 9")
def answers_name_the_archive(server: CheckedServer) -> Steps:
    """Each answer names the service that gave it (`ibi.archiveservice`)."""
    assert server.service is not None
    pairs = yield from ask_url(server, server.original().label)
    forms = forms_of(pairs, "ibi.archiveservice")
    if forms is not None and not forms.names(server.service):
        own = yield from ask_url(server, server.service)  # it may have been asked by its other form
        known = forms_of(own, "ibi")
        require(known is not None and set(known.labels) & set(forms.labels), f"it names {forms.labels[0]}")


@check("R Figure 5.3")
def both_forms_are_one_item(server: CheckedServer) -> Steps:
    """The two forms of an IBI are answered alike: one Archive holds one item of an IBI."""
    item = server.item(lambda each: each.forms is not None and len(each.forms.labels) == 2, "has both forms of a label")
    assert item.forms is not None
    first, second = item.forms.labels
    one, other = (yield from ask_url(server, first)), (yield from ask_url(server, second))
    require(say_the_same(one, other), f"{first} and {second} are answered differently")


@check("R Figure 5.4")
def an_item_is_original_or_copy(server: CheckedServer) -> Steps:
    """An item that has a URL is an Original or a Copy."""
    pairs = yield from ask_url(server, server.original().label)
    require(pairs.word("state") != "Deleted", "it has a URL, and is said to be deleted")


@check("G 6")
def repository_names_ignore_case(server: CheckedServer) -> Steps:
    """A repository name in other letters, upper or lower, is the same label."""
    item = server.item(lambda each: each.forms is not None and each.forms.rep is not None, "has a repository name")
    assert item.forms is not None
    assert item.forms.rep is not None
    one = yield from ask_url(server, item.forms.rep)
    require(
        say_the_same(one, (yield from ask_url(server, item.forms.rep.upper()))), "in upper case it is another label"
    )


@check("G 7")
def ibips_ignore_case(server: CheckedServer) -> Steps:
    """An IBIp in other letters, upper or lower, is the same label."""
    item = server.item(lambda each: each.forms is not None and each.forms.ibip is not None, "has an IBIp")
    assert item.forms is not None
    assert item.forms.ibip is not None
    one = yield from ask_url(server, item.forms.ibip)
    require(
        say_the_same(one, (yield from ask_url(server, item.forms.ibip.lower()))), "in lower case it is another label"
    )


@check("R Table 8.9")
def what_is_asked_about_is_obligatory(server: CheckedServer) -> Steps:
    """A urlRequest without `parsedibiurl.ibi` is answered with no item."""
    query = write_query([pair for pair in url_request("x") if pair[0] != "parsedibiurl.ibi"])
    received = yield service_probe(server, query)
    require(not received.is_success or not read_pairs(received.body).values, "it is answered with pairs")


@check("R Table 8.10")
def lists_of_addresses_are_read(server: CheckedServer) -> Steps:
    """The address of the user may be followed by those of proxies, of either family."""
    label = server.original().label
    alone = yield from ask_query(server, write_query(url_request(label)))
    for more in (f"{READER} 198.51.100.7", f"{READER} 2001:db8::7"):
        many = yield from ask_query(server, write_query(url_request(label, client=more)))
        require(bool(many.values) == bool(alone.values), f"with the addresses {more} nothing is answered")


@check("R 10.1")
def the_url_leads_to_the_item(server: CheckedServer) -> Steps:
    """The URL of an answer can be fetched: the browser is sent there."""
    failures: list[str] = []
    for item in server.originals()[:_MOST_FETCHED]:
        assert item.url is not None
        received = yield Probe(item.url, headers=(("Range", "bytes=0-0"),), redirects=3, may_fail=True)
        if received.failure is None:
            require(received.is_success or received.status in (401, 403, 416), f"its status is {received.status}")
            advise(received.is_success or received.status == 416, f"it is not open to all: status {received.status}")
            break
        failures.append(f"{item.url} was not fetched: {received.failure}")
    else:
        is_tried = any(NOT_DIALLED not in failure for failure in failures)
        require(not is_tried, f"none of its URLs can be fetched: {failures[0]}")
    advise(not failures, failures[0] if failures else "")


@check("R 9.2")
def keys_are_fresh(server: CheckedServer) -> Steps:
    """The `urlkey` changes with every answer, as it should."""
    label = server.original().label
    one, other = (yield from ask_url(server, label)), (yield from ask_url(server, label, number=1))
    advise(one.word("urlkey") != other.word("urlkey") or "urlkey" not in one, "two answers have the same")


@check("R Algorithm 2")
def deleted_items_are_said_to_be(server: CheckedServer) -> Steps:
    """A deleted item is answered with its state and time, and with neither URL nor key (R Algorithm 2, line 11)."""
    item = server.item(lambda each: each.state == "Deleted" and each.url is None, "was deleted")
    pairs = yield from ask_url(server, item.label)
    missing = {"ibi", "state", "timestamp"} - set(pairs.values)
    require(not missing, f"{', '.join(sorted(missing))} is missing")
    more = [name for name in pairs.values if name.partition(".")[0] in ("contenttype", "url", "urlkey")]
    require(not more and "ibi.nextedition" not in pairs, f"{', '.join(more) or 'ibi.nextedition'} is too much")


@check("R Table 8.11", changes=True)
def acknowledgments_are_received(server: CheckedServer) -> Steps:
    """An acknowledgment with all pairs of the table is answered with `notice {acknowledgment received}`."""
    received = yield service_probe(server, write_query(_acknowledgment(server)))
    _judge_notice(received.status, received.body)


@check("R Example 8.9", changes=True)
def acknowledgments_may_lack_what_is_optional(server: CheckedServer) -> Steps:
    """An acknowledgment without `ibi` is received as well: metadata may have none."""
    pairs = [pair for pair in _acknowledgment(server) if pair[0] != "ibi"]
    received = yield service_probe(server, write_query(pairs))
    _judge_notice(received.status, received.body)


def _judge_notice(status: int, body: bytes) -> None:
    require(200 <= status < 300, f"the status is {status}")
    require(body.strip() == b"notice {acknowledgment received}", "the answer is another")


def _acknowledgment(server: CheckedServer) -> list[tuple[str, str]]:
    item = server.original()
    value = item.plain.word
    kind, state, key = value("contenttype"), value("state"), value("urlkey")
    pairs = [
        ("servicesubject", "acknowledgment"),
        ("clientinformation.ipaddress", READER),
        ("contenttype", "Metadata" if kind == "Metadata" else "Data"),
        ("ibi", value("ibi") or ""),
        ("state", "Copy" if state == "Copy" else "Original"),
        ("url.persistent", f"http://urlib.net/{item.label}"),
        ("urlkey", key if key is not None and fault_of_key(key) is None else "1234567890"),
    ]
    # E25: the URL keeps its percent signs.
    return [*pairs, ("url", (value("url") or "").replace("%20", " "))]
