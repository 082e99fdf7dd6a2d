"""Checks of all answers to messages: type, grammar, names, values and labels (R 6.2, R 9.2).

These checks send nothing. They read the server's answers to all other checks again. Labels of own and related items are
judged by the generation standard (G).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from urllib.parse import unquote

from ibi.check.rules.checking import (
    CheckedServer,
    ClauseNotApplicable,
    Probe,
    ProbeResponse,
    Steps,
    advise,
    check,
    forms_of,
    qualified,
    require,
)
from ibi.check.rules.grammars import (
    EXTENDED_RELATION,
    RELATION,
    FormsOfLabel,
    fault_of_address,
    fault_of_date,
    fault_of_host_and_port,
    fault_of_ibip,
    fault_of_key,
    fault_of_repository,
    fault_of_seconds,
    fault_of_timestamp,
    fault_of_url,
    instant_of_ibip,
    instant_of_repository,
)
from ibi.check.rules.pair_lists import FaultKind, PairList, read_pairs

_CONTENT_TYPES = frozenset({"Data", "Metadata"})
_STATES = frozenset({"Original", "Copy", "Deleted"})
_QUALIFIED = ("contenttype", "ibi", "state", "timestamp", "url")
_OWN_QUALIFIERS = frozenset({".archiveservice", ".nextedition", ".platformsoftware"})
"""Qualifiers of `ibi` that are no relations."""


def _lists(server: CheckedServer) -> Iterator[tuple[Probe, PairList]]:
    for probe, received in server.answers:
        yield probe, read_pairs(received.body)


def _url_lists(server: CheckedServer) -> list[tuple[Probe, PairList]]:
    """Return the answers about items that are known to exist. The checks that send the other requests judge those
    answers."""
    labels = {
        label.lower() for item in server.items for label in (item.label, *(item.forms.labels if item.forms else ()))
    }
    found = [each for each in _lists(server) if each[1].values and _asked_label(each[0]) in labels]
    if not found:
        raise ClauseNotApplicable("no item was found")
    return found


def _asked_label(probe: Probe) -> str:
    """Return the label of a urlRequest, in lower case."""
    asked = probe.target.partition("?")[2].split("&") if "servicesubject=urlRequest" in probe.target else []
    return unquote(next((pair[17:] for pair in asked if pair.startswith("parsedibiurl.ibi=")), "")).lower()


def _see(probe: Probe) -> Steps:
    """Show the request that a fault belongs to. It was sent before, and is not sent again."""
    yield probe


def _judge_values(server: CheckedServer, prefix: str, fault_of: Callable[[str], str | None]) -> Steps:
    for probe, pairs in _url_lists(server):
        for qualifier, value in qualified(pairs, prefix):
            # R Table 6.2 covers values that are not visible ASCII.
            if value.isascii() and (fault := fault_of(value)) is not None:
                yield from _see(probe)
                require(False, f"{prefix}{qualifier}: {fault}")


@check("R 6.2", None)
def answers_are_plain_text(server: CheckedServer) -> Steps:
    """Each answer to a message has the type text/plain."""
    for probe, received in server.answers:
        if received.media_type != "text/plain":
            yield from _see(probe)
            require(False, f"the type is {received.header('content-type') or 'not said'}")
    parameters = [received.header("content-type") for _, received in server.answers if _has_parameter(received)]
    advise(not parameters, f"the standard has no parameters: {parameters[0] if parameters else ''}")


def _has_parameter(received: ProbeResponse) -> bool:
    return ";" in (received.header("content-type") or "")


@check("R Table 6.2", None)
def answers_are_lists_of_pairs(server: CheckedServer) -> Steps:
    """Each answer is a list of pairs: a name, blanks, a word or words in braces; visible ASCII."""
    yield from _judge_faults(server, FaultKind.GRAMMAR)


@check("R Example 9.7", None)
def pairs_are_joined_by_one_separator(server: CheckedServer) -> Steps:
    """Between two pairs stands one blank or one CRLF, and nothing before the first or after the last."""
    yield from _judge_faults(server, FaultKind.SEPARATOR)


@check("R Example 6.2", None)
def names_come_once(server: CheckedServer) -> Steps:
    """No name comes twice in an answer."""
    yield from _judge_faults(server, FaultKind.REPEATED)


def _judge_faults(server: CheckedServer, kind: FaultKind) -> Steps:
    for probe, pairs in _lists(server):
        if faults := pairs.faults_of(kind):
            yield from _see(probe)
            require(False, str(faults[0]))


@check("R 9.2")
def the_archive_is_named(server: CheckedServer) -> Steps:
    """An answer about an item has `archiveaddress`, `ibi.archiveservice` and `ibi.platformsoftware` (lines 6 to 10)."""
    for probe, pairs in _url_lists(server):
        missing = {"archiveaddress", "ibi.archiveservice", "ibi.platformsoftware"} - set(pairs.values)
        if missing:
            yield from _see(probe)
            require(False, f"{', '.join(sorted(missing))} is missing")


@check("R Example 9.2")
def a_url_has_type_state_and_time(server: CheckedServer) -> Steps:
    """With each URL come its content type, state and time stamp, and no type without it (R Algorithm 2, lines 25 to
    32)."""
    for probe, pairs in _url_lists(server):
        for qualifier, _ in qualified(pairs, "contenttype"):
            if f"url{qualifier}" not in pairs:
                yield from _see(probe)
                require(False, f"contenttype{qualifier} comes without url{qualifier}")
        for qualifier, _ in qualified(pairs, "url"):
            missing = [name for name in ("contenttype", "state", "timestamp") if f"{name}{qualifier}" not in pairs]
            if missing:
                yield from _see(probe)
                require(False, f"url{qualifier} comes without {missing[0]}{qualifier}")


@check("R Algorithm 2")
def a_url_has_a_key(server: CheckedServer) -> Steps:
    """An answer with a URL has a `urlkey` for the acknowledgment (R Algorithm 2, line 19)."""
    for probe, pairs in _url_lists(server):
        if any(qualified(pairs, "url")) and "urlkey" not in pairs:
            yield from _see(probe)
            require(False, "there is a URL and no urlkey")


@check("R Table 9.3")
def addresses_and_types_are_of_their_domains(server: CheckedServer) -> Steps:
    """`archiveaddress` is a host with or without a port, and `contenttype` Data or Metadata."""
    yield from _judge_values(server, "archiveaddress", fault_of_host_and_port)
    yield from _judge_values(server, "contenttype", _fault_of_word(_CONTENT_TYPES))


@check("R Example 9.4")
def states_are_of_their_domain(server: CheckedServer) -> Steps:
    """`state` is Original, Copy or Deleted."""
    yield from _judge_values(server, "state", _fault_of_word(_STATES))


def _fault_of_word(words: frozenset[str]) -> Callable[[str], str | None]:
    def fault_of(text: str) -> str | None:
        return None if text in words else f"{text!r} is none of {', '.join(sorted(words))}"

    return fault_of


@check("R Example 9.6")
def time_stamps_are_of_iso_8601(server: CheckedServer) -> Steps:
    """`timestamp` is a date and time of ISO 8601 that exists."""
    yield from _judge_values(server, "timestamp", fault_of_timestamp)


@check("R Table 7.1")
def keys_are_numbers(server: CheckedServer) -> Steps:
    """`urlkey` is one or two runs of ten digits or more."""
    yield from _judge_values(server, "urlkey", fault_of_key)


@check("R Example 9.9")
def urls_are_urls(server: CheckedServer) -> Steps:
    """`url` is a URI of the Web, in ASCII, with everything else percent-encoded."""
    yield from _judge_values(server, "url", fault_of_url)


@check("R Table 9.4")
def forms_of_labels_are_named(server: CheckedServer) -> Steps:
    """`ibi` names the forms of a label: `rep …`, `ibip …`, or both in this order."""
    for probe, pairs in _url_lists(server):
        for qualifier, value in qualified(pairs, "ibi"):
            is_known = qualifier in _OWN_QUALIFIERS or EXTENDED_RELATION.fullmatch(qualifier)
            name = f"ibi{qualifier}"
            if not is_known or (name == "ibi.platformsoftware" and not value):
                continue
            if forms_of(pairs, name) is None:
                yield from _see(probe)
                require(False, f"{name} is {' '.join(pairs.values[name])!r}")


@check("R Table 9.5")
def qualifiers_are_relations(server: CheckedServer) -> Steps:
    """What qualifies a name is a relation: last edition, translation, metadata, in the order of the grammar."""
    extended = set[str]()
    names = {name for _, pairs in _url_lists(server) for name in pairs.values}
    for probe, pairs in _url_lists(server):
        for prefix in _QUALIFIED:
            for qualifier, _ in qualified(pairs, prefix):
                if RELATION.fullmatch(qualifier) or (prefix == "ibi" and qualifier in _OWN_QUALIFIERS):
                    continue
                if not EXTENDED_RELATION.fullmatch(qualifier) and not _may_be_renamed(prefix, names):
                    yield from _see(probe)
                    require(False, f"{prefix}{qualifier} is qualified by no relation")
                extended.add(f"{prefix}{qualifier}")
    known = (*_QUALIFIED, "archiveaddress", "urlkey")
    strange = extended | {name for name in names if name.partition(".")[0] not in known}
    advise(not strange, f"the standard does not have {', '.join(sorted(strange)[:5])}")


def _may_be_renamed(prefix: str, names: set[str]) -> bool:
    """Return whether no answer has one of the usual names with that prefix. The clause of that name reports it."""
    usual = (".lastedition", ".metadata") if prefix != "ibi" else (".lastedition", *_OWN_QUALIFIERS)
    return any(f"{prefix}{qualifier}" not in names for qualifier in usual)


def _forms(server: CheckedServer) -> Iterator[tuple[Probe, FormsOfLabel]]:
    for probe, received in server.answers:
        pairs = read_pairs(received.body)
        for name in pairs.values:
            forms = forms_of(pairs, name) if name == "ibi" or name.startswith("ibi.") else None
            if forms is not None:
                yield probe, forms


def _judge(
    server: CheckedServer, label_of: Callable[[FormsOfLabel], str | None], fault_of: Callable[[str], str | None]
) -> Steps:
    found = [(probe, label) for probe, forms in _forms(server) if (label := label_of(forms)) is not None]
    if not found:
        raise ClauseNotApplicable("no answer has such a label")
    for probe, label in found:
        if (fault := fault_of(label)) is not None:
            yield probe
            require(False, fault)


def _repository(forms: FormsOfLabel) -> str | None:
    return forms.rep


def _well_formed_repository(forms: FormsOfLabel) -> str | None:
    return forms.rep if forms.rep is not None and fault_of_repository(forms.rep) is None else None


def _ibip(forms: FormsOfLabel) -> str | None:
    return forms.ibip


def _well_formed_ibip(forms: FormsOfLabel) -> str | None:
    return forms.ibip if forms.ibip is not None and fault_of_ibip(forms.ibip) is None else None


@check("G Table 6.1")
def repository_names_are_of_the_grammar(server: CheckedServer) -> Steps:
    """A repository name is a subdomain, a word with or without a port, a year, and the rest of a date."""
    yield from _judge(server, _repository, fault_of_repository)


@check("G Algorithm 2")
def dates_of_repository_names_exist(server: CheckedServer) -> Steps:
    """The date in a repository name exists in the calendar."""
    yield from _judge(server, _well_formed_repository, fault_of_date)


@check("G Algorithm 1")
def repository_names_are_in_lower_case(server: CheckedServer) -> Steps:
    """A repository name is written in lower case, as is recommended."""
    yield from _judge(server, _well_formed_repository, lambda _: None)
    for probe, forms in _forms(server):
        if forms.rep is not None and forms.rep != forms.rep.lower():
            yield probe
            advise(False, f"{forms.rep} has upper case in it")


@check("G Table 7.1")
def ibips_are_of_the_grammar(server: CheckedServer) -> Steps:
    """An IBIp is two words of its 29 characters."""
    yield from _judge(server, _ibip, fault_of_ibip)


@check("G Algorithm 5")
def prefixes_of_ibips_are_addresses(server: CheckedServer) -> Steps:
    """The prefix of an IBIp stands for an IP address and a port."""
    yield from _judge(server, _well_formed_ibip, fault_of_address)


@check("G Algorithm 6")
def suffixes_of_ibips_are_dates(server: CheckedServer) -> Steps:
    """The suffix of an IBIp stands for seconds since 1995-08-01, and a fraction."""
    yield from _judge(server, _well_formed_ibip, fault_of_seconds)


@check("G 5")
def both_forms_are_of_one_instant(server: CheckedServer) -> Steps:
    """The two forms of a label are made from one instant."""
    both = [(probe, forms) for probe, forms in _forms(server) if forms.rep is not None and forms.ibip is not None]
    if not both:
        raise ClauseNotApplicable("no answer has both forms of a label")
    for probe, forms in both:
        assert forms.rep is not None
        assert forms.ibip is not None
        instants = instant_of_repository(forms.rep), instant_of_ibip(forms.ibip)
        if None not in instants and instants[0] != instants[1]:
            yield probe
            require(False, f"{forms.rep} and {forms.ibip} are of different instants")
