"""Resolutions within one Archive: for a server that keeps items and runs no resolver.

The rules are those of every resolution (`ibi.resolver.resolution`). Only the own Archive is asked, so that there is an
outcome at once; links that lead out of it are left to a resolver.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from ibi.archive.profile import ALL_RELATIONS, ArchiveProfile
from ibi.archive.url_key import UrlKeys
from ibi.language_range import Preference
from ibi.messages.label_forms import LabelForms
from ibi.messages.url_list import UrlList
from ibi.messages.values import IpAddress, ip_address
from ibi.persistent_url import PersistentUrl
from ibi.ports.catalog import Catalog
from ibi.ports.clocks import Clocks
from ibi.resolver.authority import ArchiveRef
from ibi.resolver.outcome import Outcome
from ibi.resolver.policy import Policy, is_on_a_declared_host
from ibi.resolver.resolution import Resolution
from ibi.services.archive_answers import ArchiveAnswers

# An Archive need not declare to itself on which hosts its items are.
_POLICY: Final = replace(Policy(), rules=tuple(rule for rule in Policy().rules if rule is not is_on_a_declared_host))
# A request has at least one address. This one is inside no network to which items are restricted.
_UNKNOWN_READER: Final = ip_address("0.0.0.0")  # noqa: S104


class LocalOutcome(NamedTuple):
    """The outcome of a resolution, and the next edition that an answer named because the line of editions does not end
    in this Archive."""

    outcome: Outcome
    next_edition: LabelForms | None


class LocalResolver:
    """Asks the Archive of `profile` with all relations, whatever it offers to resolvers elsewhere: no other Archive
    could complete its answers here."""

    def __init__(self, profile: ArchiveProfile, catalog: Catalog, keys: UrlKeys, clocks: Clocks) -> None:
        whole = replace(profile, relations=ALL_RELATIONS, follow_editions=True, filtered=True)
        self._answers = ArchiveAnswers(whole, catalog, keys, clocks)
        self._own = ArchiveRef(profile.service, profile.address)

    def resolve(self, url: PersistentUrl, reader: IpAddress | None, preferences: Sequence[Preference]) -> LocalOutcome:
        """`preferences` are the languages that the reader wants, best first. Errors of the Archive, such as a damaged
        record, are raised."""
        clients = (_UNKNOWN_READER if reader is None else reader,)
        run = Resolution(url, (self._own,), clients, preferences, now=0.0, policy=_POLICY)
        next_edition: LabelForms | None = None
        while askings := run.requests():
            for asking in askings:
                told = self._answers.answer(asking.request)
                run.answer(asking, told.answer, 0.0, transferred_to=told.transferred_to)
                if isinstance(told.answer, UrlList):
                    next_edition = next_edition or told.answer.next_edition
        assert run.outcome is not None  # all that was asked has answered
        return LocalOutcome(run.outcome, next_edition)
