"""What a resolver believes of an answer.

That it is well-formed, and that its URLs are http or https without user information, stray characters or hosts in odd
spellings, is seen to where it is read (`ibi.messages.values.url`, E45): no other value of `UrlList` can exist. The
rules here need to know who was asked for what.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from ibi.label import Label
from ibi.messages.label_forms import LabelForms
from ibi.messages.url_list import Deletion, UrlList
from ibi.origin import authority_of
from ibi.persistent_url import MAX_LENGTH
from ibi.relation import Relation
from ibi.resolver.archive_ref import ArchiveRef


class ArchiveClaim(NamedTuple):
    """What one Archive says when asked for `label`: an answer as a whole, or the URL of one of its entries."""

    archive: ArchiveRef
    label: Label
    answer: UrlList | Deletion
    url: str | None = None


Rule = Callable[[ArchiveClaim], bool]


def is_about_the_item(claim: ArchiveClaim) -> bool:
    """The answer names the label asked for, or the other form of it with the same instant (E29)."""
    return claim.answer.ibi.may_name(claim.label)


def speaks_for_itself(claim: ArchiveClaim) -> bool:
    """The answer names the Archive that was asked: it cannot claim an Original in the name of another."""
    return _name_alike(claim.answer.archive_service, claim.archive.service)


def is_on_a_declared_host(claim: ArchiveClaim) -> bool:
    """The URL leads to a host that the Archive declared (E31)."""
    return claim.url is None or claim.archive.declares(authority_of(claim.url))


def has_bearable_length(claim: ArchiveClaim) -> bool:
    """The URL fits into a header that browsers and proxies take."""
    return claim.url is None or len(claim.url) <= MAX_LENGTH


RULES: Final[tuple[Rule, ...]] = (is_about_the_item, speaks_for_itself, is_on_a_declared_host, has_bearable_length)
OF_THE_WHOLE: Final = frozenset({is_about_the_item, speaks_for_itself})
"""Those that no URL of an answer can break if the answer does not."""


def broken_rule(claim: ArchiveClaim, rules: Iterable[Rule] = RULES) -> Rule | None:
    """The first rule that the claim breaks; None if it may be believed."""
    for rule in rules:
        if not rule(claim):
            return rule
    return None


def refused_urls(archive: ArchiveRef, label: Label, answer: UrlList, rules: Iterable[Rule]) -> Mapping[Relation, Rule]:
    """The rules that URLs of a valid answer break, by the relation of their entry."""
    refused: dict[Relation, Rule] = {}
    for entry in answer.entries:
        if entry.url is not None:
            rule = broken_rule(ArchiveClaim(archive, label, answer, entry.url), rules)
            if rule is not None:
                refused[entry.relation] = rule
    return refused


def _name_alike(one: LabelForms, other: LabelForms) -> bool:
    return one is other or any(map(one.may_name, other.labels))
