"""The limits of a resolution: how long it waits, how far it follows pointers, and which URLs it accepts.

Well-formedness is checked where an answer is read (`ibi.standard.messages.values.url`, E45). URLs are http or https,
without user information, stray characters or hosts in unusual spellings. No other `UrlList` can exist. The rules here
need to know which Archive was asked for which label.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from ipaddress import ip_address
from typing import Final, NamedTuple

from ibi.membership.rules.authority import ArchiveRef, Word, is_home
from ibi.resolver.rules.answers import Match, Reason, Referral
from ibi.resolver.rules.language import Wanted
from ibi.resolver.rules.outcome import LoopDetected
from ibi.resolver.rules.question import Question
from ibi.standard.label import Label
from ibi.standard.label.reach import address_is_global
from ibi.standard.label.search import home_prefix
from ibi.standard.messages.identification import LabelForms
from ibi.standard.messages.requests import UrlRequest
from ibi.standard.messages.url_list import Deletion, UrlList
from ibi.standard.messages.values import IpAddress
from ibi.standard.origin import authority_of, host_of
from ibi.standard.persistent_url import MAX_LENGTH
from ibi.standard.relation import Relation
from ibi.standard.vocabulary import State


class ArchiveClaim(NamedTuple):
    """The claim of one Archive, when asked for `label`: an answer as a whole, or the URL of one of its entries."""

    archive: ArchiveRef
    label: Label
    answer: UrlList | Deletion
    url: str | None = None
    holders: Collection[ArchiveRef | None] = ()
    """The Archives that decide about the item, or are known to hold it."""


Rule = Callable[[ArchiveClaim], bool]


def is_about_the_item(claim: ArchiveClaim) -> bool:
    """Return whether the answer names the label asked for, or its other form with the same instant (E29)."""
    return claim.answer.ibi.may_name(claim.label)


def speaks_for_itself(claim: ArchiveClaim) -> bool:
    """Return whether the answer names the Archive that was asked, or none (E47).

    So an Archive cannot claim an Original in the name of another.
    """
    service = claim.answer.archive_service
    return service is None or _name_alike(service, claim.archive.service)


def is_on_a_declared_host(claim: ArchiveClaim) -> bool:
    """Return whether the URL leads to a host that the Archive declared (E31)."""
    return claim.url is None or claim.archive.declares(authority_of(claim.url))


def is_declared_or_of_the_holder(claim: ArchiveClaim) -> bool:
    """Return whether the URL leads to a declared host, or was chosen by the holder of the item (E31).

    R lets the Archive of an item choose its location (R 5.1, 9.2). An address that only this machine or its network
    knows must be declared.
    """
    if claim.url is None or is_on_a_declared_host(claim):
        return True
    is_holder = claim.archive in claim.holders or is_home(claim.archive, claim.label)
    return is_holder and _is_of_the_internet(authority_of(claim.url))


# Traces show a rule by its name: for a reader both are the same rule.
is_declared_or_of_the_holder.__name__ = is_on_a_declared_host.__name__


def exempt(own: ArchiveRef, rule: Rule) -> Rule:
    """Return the host rule for all Archives except one's own, which need not declare hosts."""

    def is_on_a_declared_host_or_our_own(claim: ArchiveClaim) -> bool:
        return claim.archive == own or rule(claim)

    is_on_a_declared_host_or_our_own.__name__ = is_on_a_declared_host.__name__
    return is_on_a_declared_host_or_our_own


def _is_of_the_internet(authority: str) -> bool:
    """Return whether the host, by its spelling, can be reached from other machines.

    Names are not looked up here: the reader's browser follows the URL.
    """
    host = host_of(authority).lower().strip("[]")
    if host == "localhost" or host.endswith(".localhost"):
        return False
    try:
        ip_address(host)
    except ValueError:
        return True
    return address_is_global(host)


def has_bearable_length(claim: ArchiveClaim) -> bool:
    """Return whether the URL fits into a header that browsers and proxies accept."""
    return claim.url is None or len(claim.url) <= MAX_LENGTH


RULES: Final[tuple[Rule, ...]] = (is_about_the_item, speaks_for_itself, is_on_a_declared_host, has_bearable_length)
OF_THE_WHOLE: Final = frozenset({is_about_the_item, speaks_for_itself})
"""The rules that no URL of an answer can break if the answer as a whole does not."""


def broken_rule(claim: ArchiveClaim, rules: Iterable[Rule] = RULES) -> Rule | None:
    """Return the first rule that the claim breaks; None if it may be believed."""
    for rule in rules:
        if not rule(claim):
            return rule
    return None


def refused_urls(
    archive: ArchiveRef,
    label: Label,
    answer: UrlList,
    rules: Iterable[Rule],
    holders: Collection[ArchiveRef | None] = (),
) -> Mapping[Relation, Rule]:
    """Return the rules that URLs of a valid answer break, by the relation of their entry."""
    refused: dict[Relation, Rule] = {}
    for entry in answer.entries:
        if entry.url is not None:
            rule = broken_rule(ArchiveClaim(archive, label, answer, entry.url, holders), rules)
            if rule is not None:
                refused[entry.relation] = rule
    return refused


def _name_alike(one: LabelForms, other: LabelForms) -> bool:
    """Return whether both name one service.

    `host`, `host.80` and `host@80` are the same, since they are one prefix (E52, E65). The forms that both have are
    compared. Only if they have none in common, the instant decides (E29).
    """
    if one is other:
        return True
    mine, theirs = ({label.form: label for label in each.labels} for each in (one, other))
    shared = mine.keys() & theirs.keys()
    if not shared:
        return any(map(one.may_name, other.labels))
    return all(_is_one_but_for_port(mine[form], theirs[form]) for form in shared)


def _is_one_but_for_port(one: Label, other: Label) -> bool:
    if one == other or not (one.is_dated and other.is_dated):
        return one == other
    return one.instant == other.instant and home_prefix(one) == home_prefix(other)


class ClientAddress(StrEnum):
    """How much of a reader's address Archives are given."""

    FULL = "full"
    NETWORK = "network"
    """The first 24 bits of an IPv4 address, 48 of an IPv6 one."""
    NONE = "none"

    def shown(self, address: IpAddress) -> IpAddress:
        """Return the address to send; the unspecified address if it is withheld, because R Table 8.9 requires one."""
        if self is ClientAddress.FULL:
            return address
        kept = 0 if self is ClientAddress.NONE else 24 if address.version == 4 else 48
        hidden = address.max_prefixlen - kept
        return type(address)(int(address) >> hidden << hidden)


@dataclass(frozen=True, slots=True)
class Policy:
    """The limits of one resolution. Times are in seconds."""

    hedge_delay: float = 0.2
    """Head start of likely Archives, and the time in which better answers may outrank the first (R §8.2)."""
    patience: float = 1.0
    """Timeout of one question for silent Archives; then the resolution goes on without them."""
    copy_patience: float = 0.5
    """How long the home of an item may be silent before a Copy is taken from an Archive that the home named."""
    budget: float = 5.0
    """The deadline of a resolution, which then ends with the result so far."""
    most_hops: int = 16
    """Most hops of one path from the item asked for (E23)."""
    fair_after: int = 3
    """Most hops that one path may be ahead of the other pointers that were found on the way."""
    most_questions: int = 48
    """Most questions of all paths together: each is a request to every Archive."""
    latest_date: int = 300
    """How many seconds in the future a label may be dated. For a later date, only the home is asked (E70)."""
    client_address: ClientAddress = ClientAddress.FULL
    """The part of the reader's address that Archives get, except the home and the known holder (E76)."""
    follow_unproven: bool = False
    """True if the resolver follows claims that only the silent home of a label could prove (E67)."""
    asks_all: bool = False
    """True if all Archives are asked at once, even if the home is enough, to hear which of them contradict it."""
    rules: tuple[Rule, ...] = RULES
    url_rules: tuple[Rule, ...] = field(init=False)
    """The rules that remain to be checked for the URLs of an answer that keeps the other rules."""

    def coarse_request(self, request: UrlRequest) -> UrlRequest | None:
        """Return the request for Archives other than the home and the known holder; None if all get the same."""
        if self.client_address is ClientAddress.FULL:
            return None
        return replace(request, client_addresses=tuple(map(self.client_address.shown, request.client_addresses)))

    @property
    def asks_again(self) -> bool:
        """True if an Archive that got a part of the reader's address is asked again before it is chosen (E76)."""
        return self.client_address is ClientAddress.NETWORK

    def __post_init__(self) -> None:
        object.__setattr__(self, "url_rules", tuple(rule for rule in self.rules if rule not in OF_THE_WHOLE))


@dataclass(slots=True)
class WaitPolicy:
    """Decides how long to wait.

    With `for_all`, an Original is required, so all Archives are waited for (step 4). `slow` are the Archives that timed
    out.
    """

    policy: Policy
    for_all: bool
    slow: set[ArchiveRef] = field(default_factory=set)

    def is_settled(self, question: Question, now: float) -> bool:
        """Return whether no Archive is worth waiting for any more."""
        if question.waiting:
            return False
        if self.for_all:
            return not question.pending
        return question.pending <= self.slow or now >= self._others_since(question) + self.policy.patience

    def _others_since(self, question: Question) -> float:
        """Return when the other Archives were asked. They get the same time if they had to wait for a home."""
        if question.word is Word.NO_HOME or question.all_asked is None:
            return question.began
        return question.all_asked

    def is_home_given_up(self, question: Question, now: float) -> bool:
        """Return whether the Archives that decide have timed out, so that trusted ones may be followed without them.

        A successor gets the same time from when it was asked, because a slow home may have named it late.
        """
        return now >= question.deciders_asked + self.policy.patience

    def is_hedged(self, question: Question, now: float) -> bool:
        """Return whether the likely Archives have had their head start."""
        return now >= question.began + self.policy.hedge_delay

    def all_had_a_moment(self, question: Question, now: float) -> bool:
        """Return whether all Archives were asked, at least the hedge delay ago."""
        return question.all_asked is not None and now >= question.all_asked + self.policy.hedge_delay

    def may_count_originals(self, question: Question, now: float) -> bool:
        """Return whether all Archives have answered that count for the Original: only the home, if it has the item."""
        if question.word is Word.GIVEN:
            return self.is_home_heard(question, now)
        if question.word is Word.AWAITED:
            return False
        return not question.waiting and self.may_count(question, now)

    def may_count(self, question: Question, now: float) -> bool:
        """Return whether all Archives have answered or timed out, so that pointers may be followed.

        An Archive that took too long is not waited for again.
        """
        if now >= question.began + self.policy.patience:
            self.slow |= question.pending
        return question.pending <= self.slow

    def may_take(self, question: Question, lead: Match | Referral, now: float) -> bool:
        """Return whether nothing better can be expected within the hedge delay."""
        word = question.word
        if word is Word.GIVEN:
            return self.is_home_heard(question, now)
        if word is Word.AWAITED:
            if self._stands_in(question, lead, now):
                return True
            if not self.is_home_given_up(question, now):
                return False
        if word is Word.NOT_HERE or not question.label.is_dated:
            return self.is_settled(question, now)
        if self.is_settled(question, now):
            return True
        if question.wanted.needs_holder:
            if question.holder_heard is not None or question.awaits_holder:
                return question.holder_heard is not None
            return self.all_had_a_moment(question, now)
        return self._is_best(question, lead) or self.all_had_a_moment(question, now)

    def _stands_in(self, question: Question, lead: Match | Referral, now: float) -> bool:
        """Return whether the lead is a Copy at an Archive named by the home, and the home has been silent for a while.

        For editions, which only the home knows, a Copy is not taken so early.
        """
        is_copy = isinstance(lead, Match) and lead.entry.state is State.COPY and not question.wanted.needs_holder
        if not is_copy or lead.heard is None or lead.heard.archive not in question.authority.copy_holders:
            return False
        return now >= question.deciders_asked + self.policy.copy_patience

    def is_home_heard(self, question: Question, now: float) -> bool:
        """Return whether the deciding answers may be used. A home beside them has a moment to contradict."""
        return not question.awaits_a_home or self.is_hedged(question, now)

    def _is_best(self, question: Question, lead: Match | Referral) -> bool:
        """Return whether no Archive that is still expected, or not asked yet, could outrank the lead.

        Neither the holder could, nor, for an Original, an Archive registered longer. The Archives asked first may be
        new.
        """
        if lead.heard is not None and lead.heard == question.holder_heard:
            return True
        if not isinstance(lead, Match) or lead.entry.state is not State.ORIGINAL or question.awaits_holder:
            return False
        since = lead.heard.archive.registered
        return not any(archive.registered < since for archive in (*question.pending, *question.waiting))

    def times(self, question: Question) -> Iterator[float]:
        """Yield the times at which one of the above changes by itself."""
        yield question.began + self.policy.hedge_delay
        yield question.began + self.policy.patience
        yield question.deciders_asked + self.policy.patience
        yield question.deciders_asked + self.policy.copy_patience
        if question.all_asked is not None:
            yield question.all_asked + self.policy.hedge_delay
            yield question.all_asked + self.policy.patience


class Visited:
    """The questions asked so far: items and relations. Both forms of a label are one item once an answer links them."""

    __slots__ = ("_asked", "_same")

    def __init__(self) -> None:
        self._same: dict[Label, Label] = {}
        self._asked: list[tuple[Label, Wanted]] = []

    def link(self, forms: LabelForms) -> None:
        """Record that these labels name one item."""
        if len(forms.labels) == 1:  # as in most answers
            return
        first, *others = map(self._root, forms.labels)
        self._same.update((other, first) for other in others if other != first)

    def add(self, forms: LabelForms, wanted: Wanted) -> None:
        self.link(forms)
        self._asked.append((forms.labels[0], wanted.question))

    def has(self, forms: LabelForms, wanted: Wanted) -> bool:
        roots = {self._root(label) for label in forms.labels}
        question = wanted.question
        return any(asked == question and self._root(label) in roots for label, asked in self._asked)

    def are_one(self, one: LabelForms, other: LabelForms) -> bool:
        return not {*map(self._root, one.labels)}.isdisjoint(map(self._root, other.labels))

    def _root(self, label: Label) -> Label:
        while label in self._same:
            label = self._same[label]
        return label


class SearchPath:
    """The path of one resolution, from `given`. `misled` counts how often an Archive pointed to a dead end."""

    def __init__(self, given: Label, policy: Policy) -> None:
        self._given, self._policy = given, policy
        self._visited = Visited()
        self._asked = 0
        self.misled: dict[ArchiveRef, int] = {}
        self.loop: LoopDetected | None = None

    def link(self, forms: LabelForms) -> None:
        """Record that an answer says that these labels name one item."""
        self._visited.link(forms)

    def add(self, forms: LabelForms, wanted: Wanted) -> None:
        """Record that this question has been asked."""
        self._visited.add(forms, wanted)
        self._asked += 1

    def may_follow(self, step: Referral, question: Question) -> bool:
        """Return whether the pointer leads to something new, not too far away. A way back is a loop (E23)."""
        if self._visited.has(step.forms, step.wanted):
            if step.reason is Reason.NEXT_EDITION and self._is_on_the_way(step, question):
                self._note_loop(question, step)
            return False
        if len(question.path) + 1 < self._policy.most_hops and self._asked < self._policy.most_questions:
            return True
        if step.reason is Reason.NEXT_EDITION:
            self._note_loop(question, step)
        return False

    def note_misled(self, question: Question) -> None:
        """Record that the Archive that led to this question led nowhere, or too far."""
        if question.pointed_by is not None:
            self.misled[question.pointed_by] = self.misled.get(question.pointed_by, 0) + 1

    def note_circle(self, question: Question) -> None:
        """Record a loop if all answers name the item as its own next edition.

        No answer may be missing, and none may report a deletion.
        """
        if question.deletions or question.silent or not question.heard:
            return
        if all(heard.succeeds_itself for heard in question.heard):
            self.loop = self.loop or LoopDetected(self._given, (question.label, question.label))

    def _is_on_the_way(self, step: Referral, question: Question) -> bool:
        way = (*question.path, question)
        return any(each.wanted == step.wanted and self._visited.are_one(each.forms, step.forms) for each in way)

    def _note_loop(self, question: Question, step: Referral) -> None:
        way = (*(each.label for each in (*question.path, question)), step.forms.labels[0])
        self.loop = self.loop or LoopDetected(self._given, way)
