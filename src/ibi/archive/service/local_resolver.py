"""Resolutions within one Archive, for a server without a resolver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from ibi.archive.rules.profile import ALL_RELATIONS, ArchiveProfile
from ibi.archive.service.answers import ArchiveAnswers
from ibi.items.ports.catalog import Catalog
from ibi.items.rules.related_items import find_labelled, knows_all_related
from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.rules.outcome import Outcome, Redirect, RelatedItemMissing
from ibi.resolver.rules.policy import Policy, is_on_a_declared_host
from ibi.resolver.rules.resolution import Resolution
from ibi.standard.clock_reading import Clocks
from ibi.standard.language_choice import Preference
from ibi.standard.messages.identification import LabelForms, UrlKeys
from ibi.standard.messages.url_list import UrlList
from ibi.standard.messages.values import IpAddress
from ibi.standard.networks import NO_READER
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.vocabulary import State

# An Archive need not declare to itself the hosts of its items.
_POLICY: Final = replace(Policy(), rules=tuple(rule for rule in Policy().rules if rule is not is_on_a_declared_host))


class LocalOutcome(NamedTuple):
    """The outcome of a resolution. `next_edition` is set when an answer named one because the line of editions does not
    end in this Archive. `is_certain` is False if another Archive may know more, because a Copy has decided."""

    outcome: Outcome
    next_edition: LabelForms | None
    is_certain: bool


class LocalResolver:
    """Resolves links within the Archive of `profile`, by the rules of every resolution
    (`ibi.resolver.rules.resolution`).

    Only this Archive is asked, so there is an outcome at once; links that lead out of it are left to a resolver. It is
    asked with all relations, whatever it offers to resolvers elsewhere: no other Archive could complete its answers
    here.
    """

    def __init__(self, profile: ArchiveProfile, catalog: Catalog, keys: UrlKeys, clocks: Clocks) -> None:
        whole = replace(profile, relations=ALL_RELATIONS, follow_editions=True, filtered=True)
        self._catalog = catalog
        self._answers = ArchiveAnswers(whole, catalog, keys, clocks)
        self._own = ArchiveRef(profile.service, profile.address)

    def resolve(self, url: PersistentUrl, reader: IpAddress | None, preferences: Sequence[Preference]) -> LocalOutcome:
        """Resolve a URL. `preferences` are the reader's languages, best first. Errors of the Archive, such as a damaged
        record, are raised."""
        clients = (NO_READER if reader is None else reader,)
        run = Resolution(url, (self._own,), clients, preferences, now=0.0, policy=_POLICY)
        next_edition: LabelForms | None = None
        while askings := run.requests():
            for asking in askings:
                told = self._answers.answer(asking.request)
                run.answer(asking, told.answer, 0.0, transferred_to=told.transferred_to)
                if isinstance(told.answer, UrlList):
                    next_edition = next_edition or told.answer.next_edition
        assert run.outcome is not None  # every question has an answer
        return LocalOutcome(run.outcome, next_edition, self._is_certain(url, run.outcome))

    def _is_certain(self, url: PersistentUrl, outcome: Outcome) -> bool:
        """Return whether no other Archive can know more.

        A URL of the item itself is certain, also that of a Copy. So is a translation that an Original here names.
        """
        relation = url.relation
        is_of_the_item = not (relation.asks_last_edition or relation.languages or relation.open_translations)
        if (is_of_the_item and isinstance(outcome, Redirect)) or not isinstance(outcome, Redirect | RelatedItemMissing):
            return True
        item = find_labelled(self._catalog, url.label)
        if item is None or knows_all_related(self._catalog, item, relation):
            return True
        if item.state is State.COPY or not isinstance(outcome, Redirect) or outcome.entry.state is State.COPY:
            return False
        return not (relation.asks_last_edition or relation.open_translations)
