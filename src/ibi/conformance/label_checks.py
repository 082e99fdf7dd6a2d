"""Labels in the answers of an Archive, judged by the generation standard: those of its own items, which it minted or
took over, and those of related items.

As those of `answer_checks`, these checks ask for nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ibi.conformance.checking import CheckedServer, ClauseNotApplicable, Steps, advise, check, forms_of, require
from ibi.conformance.grammars import (
    FormsOfLabel,
    fault_of_address,
    fault_of_date,
    fault_of_ibip,
    fault_of_repository,
    fault_of_seconds,
    instant_of_ibip,
    instant_of_repository,
)
from ibi.conformance.strict_pairs import read_pairs
from ibi.conformance.wire import Probe


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
