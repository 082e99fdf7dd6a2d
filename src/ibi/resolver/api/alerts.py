"""Alerts about resolutions without a redirect: the outcome, its status, and the next step (E24)."""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus
from typing import Final, TypeAlias

from babel.support import NullTranslations

from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.api.alert import (
    Advice,
    Alert,
    Group,
    advise_tombstone,
    advise_world_resolver,
    alert_about_end,
    archive_record,
    archive_records,
    claim_record,
    forms_record,
    is_of_metadata,
    without_steps,
)
from ibi.resolver.rules.outcome import (
    Deleted,
    LoopDetected,
    Missing,
    NoArchiveAnswered,
    NotFound,
    OriginalDisputed,
    OriginalNotFound,
    Outcome,
    Redirect,
    RelatedItemMissing,
    UnprovenClaim,
    UnprovenClaims,
    Unsettled,
)
from ibi.standard.label import Label
from ibi.standard.languages import LanguageTag
from ibi.standard.origin import authority_of, host_of
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.relation import LastEdition, Metadata, Relation, Translation

RETRY_AFTER: Final = 30
"""Seconds after which an unreachable Archive may be back."""

_METADATA: Final = Relation((Metadata(),))
_OAI_DC: Final = Metadata("oai_dc")
"""The only format that the standard itself names (R Table 8.1)."""


def alert_about(outcome: Outcome, url: PersistentUrl, words: NullTranslations, base: str = "") -> Alert:
    """Return the alert about an outcome. `url` is the requested one, `base` the address of this resolver.

    A `Redirect` has an alert only if its URL has to be confirmed (E31).
    """
    made = _Alerts(url, words, base).about(outcome)
    facts: dict[str, object] = {"label": url.label.spelling, "relation": url.relation.modifier, **made.facts}
    silence, advice, groups = made.silence, made.advice, made.groups
    if silence.asked:
        facts |= {"archives_asked": silence.asked, "archives_silent": archive_records(silence.silent)}
    if silence.silent:
        more = words.gettext("Try again in a few minutes: an Archive that did not answer may know more.")
        advice = (*advice, Advice(more))
        groups = (*groups, Group(words.gettext("Archives that did not answer"), silence.silent))
    return replace(made, facts=facts, advice=advice, groups=groups)


_Words: TypeAlias = tuple[str, str, str, tuple[Advice, ...]]
"""Code, title and message of an alert, and its advice."""


class _Links:
    """Links that lead on from an alert: the persistent URL of the reader with a part of it changed."""

    def __init__(self, url: PersistentUrl, words: NullTranslations) -> None:
        self._url, self._gettext = url, words.gettext

    def to_changed(self, words: str, **changes: object) -> Advice:
        """Return a link to the same persistent URL with these changes."""
        target = replace(self._url, **changes).text("", keep_spelling=True)  # type: ignore[arg-type]
        return Advice(words, f"/{target}", target)

    def to_item(self) -> Advice:
        _ = self._gettext
        return self.to_changed(_("See the item itself:"), relation=Relation.ITSELF, file_list=False, file_path=None)

    def to_this_edition(self) -> Advice:
        _ = self._gettext
        return self.to_changed(_("Use this edition instead:"), relation=without_steps(self._url.relation, LastEdition))

    def to_language(self, at: Label, relation: Relation, tag: LanguageTag) -> Advice:
        _, steps = self._gettext, enumerate(relation.steps)
        index = next(index for index, step in steps if isinstance(step, Translation))
        there = replace(self._url, label=at, relation=relation.with_language(index, tag), language=None)
        target = there.text("", keep_spelling=True)
        return Advice(_("Read it in {language}:").format(language=tag), f"/{target}", target)

    def to_linked_item(self, at: Label) -> tuple[Advice, ...]:
        """Return a link to the item in the URL, if the alert is about another item that the URL led to."""
        if at == self._url.label:
            return ()
        if any(isinstance(step, LastEdition) for step in self._url.relation.steps):
            return (self.to_this_edition(),)
        return (self.to_item(),)


class _Alerts:
    """Alerts about one persistent URL, in one language."""

    def __init__(self, url: PersistentUrl, words: NullTranslations, base: str) -> None:
        self._url, self._gettext, self._ngettext, self._base = url, words.gettext, words.ngettext, base
        self._label, self._links = url.label.spelling, _Links(url, words)

    def about(self, outcome: Outcome) -> Alert:
        match outcome:
            case NotFound():
                return self._not_found(outcome)
            case Deleted():
                return self._item_deleted(outcome)
            case RelatedItemMissing():
                return self._related_missing(outcome)
            case OriginalNotFound():
                return self._original_not_found(outcome)
            case OriginalDisputed():
                return self._original_disputed(outcome)
            case LoopDetected():
                return self._loop(outcome)
            case NoArchiveAnswered():
                return self._no_archive(outcome)
            case UnprovenClaims():
                return self._unproven(outcome)
            case Redirect():
                return self._to_confirm(outcome)

    def _not_found(self, outcome: NotFound) -> Alert:
        _, ngettext, silence = self._gettext, self._ngettext, outcome.silence
        title, said = _("No Archive has this item"), _("{label} is in none of the Archives of this resolver.")
        said = said.format(label=self._label)
        if silence.silent:
            title = _("No Archive that answered has this item")
            said = ngettext(
                "{label} is in none of the Archives that answered. {number} Archive did not answer, and may have it.",
                "{label} is in none of the Archives that answered. {number} Archives did not answer, and may have it.",
                len(silence.silent),
            ).format(label=self._label, number=len(silence.silent))
        suggested = [replace(self._url, label=label).text("", keep_spelling=True) for label in outcome.suggestions]
        return Alert(
            "unknown-item",
            HTTPStatus.NOT_FOUND,
            title,
            said,
            {"suggestions": suggested},
            (
                *(Advice(_("Did you mean this one?"), f"/{text}", text) for text in suggested),
                Advice(_("Check the identifier against its source: a character may be missing.")),
                *advise_world_resolver(self._url, self._base, _),
            ),
            silence=silence,
        )

    def _item_deleted(self, outcome: Deleted) -> Alert:
        _, when, label = self._gettext, outcome.when, outcome.label.spelling
        said = (
            _("{label} was deleted, according to {archive}, the Archive that kept it.")
            if when is None
            else _("{label} was deleted on {date}, according to {archive}, the Archive that kept it.")
        )
        facts: dict[str, object] = {
            "at": label,
            "deleted_by": None if outcome.by is None else archive_record(outcome.by),
            "deleted_at": None if when is None else str(when),
            "copies": archive_records(outcome.copies),
        }
        advice = [advise_tombstone(outcome, _)]
        kept_by = () if outcome.by is None else (Group(_("The Archive that kept it"), (outcome.by,), label),)
        if outcome.copies:
            advice.insert(0, Advice(_("Other Archives still have a Copy, which you may request.")))
        return Alert(
            "item-deleted",
            HTTPStatus.GONE,
            _("This item was deleted"),
            said.format(label=label, archive=outcome.told_by, date=str(when)[:10]),
            facts,
            (*self._links.to_linked_item(outcome.label), *advice),
            (*self._copies(outcome.copies, label), *kept_by),
            outcome.silence,
        )

    def _loop(self, outcome: LoopDetected) -> Alert:
        _ = self._gettext
        path = [label.spelling for label in outcome.path]
        return Alert(
            "loop-detected",
            HTTPStatus.NOT_FOUND,
            _("The editions form a loop"),
            _("Each edition names a later one, without end: {path}.").format(path=" → ".join(path)),
            {"path": path},
            (self._links.to_this_edition(),),
        )

    def _no_archive(self, outcome: NoArchiveAnswered) -> Alert:
        # The Archive of this server always answers, and does not count here.
        _, asked, label = self._gettext, len(outcome.silence.silent), outcome.label.spelling
        if outcome.successor is not None:
            return alert_about_end(label, outcome.successor.spelling, _)
        status = HTTPStatus.GATEWAY_TIMEOUT if outcome.timed_out else HTTPStatus.BAD_GATEWAY
        home = None if outcome.home is None else archive_record(outcome.home)
        advice = self._links.to_linked_item(outcome.label)
        if outcome.away is not None:
            home = {"address": None, "ibi": forms_record(outcome.away)}
            advice = (*advice, Advice(_("Try again later: it may be switched on again.")))
        elif not asked:
            advice = (Advice(_("Report this to the administrator of this resolver: no Archive is active.")),)
        is_one = outcome.home is not None or outcome.away is not None
        title = _("The Archive of this item could not be asked") if is_one else _("No Archive could be asked")
        return Alert(
            "no-archive-answered",
            status,
            _("An Archive sent an unreadable answer") if outcome.unreadable else title,
            self._silence_words(outcome),
            {"at": label, "home": home},
            advice,
            silence=outcome.silence,
            retry_after=RETRY_AFTER,
        )

    def _silence_words(self, outcome: NoArchiveAnswered) -> str:
        """Return the sentence that says why there is no answer."""
        _, ngettext, asked = self._gettext, self._ngettext, len(outcome.silence.silent)
        label = outcome.label.spelling
        if outcome.away is not None:
            said = _("{archive}, the Archive where {label} should be, is switched off at the moment.")
            return said.format(archive=outcome.away.labels[0].spelling, label=label)
        if outcome.unreadable:
            said = _("{archive} answered about {label} in a form that this resolver cannot read.")
            return said.format(archive=outcome.unreadable[0].address, label=label)
        if not asked:
            return _("This resolver knows no Archive that it could ask.")
        if outcome.home is not None:
            said = _("{archive}, where {label} should be, does not answer.")
            return said.format(archive=outcome.home.address, label=label)
        return ngettext(
            "{number} Archive was asked and did not answer.",
            "{number} Archives were asked and did not answer.",
            asked,
        ).format(number=asked)

    def _related_missing(self, outcome: RelatedItemMissing) -> Alert:
        facts: dict[str, object] = {
            "missing": outcome.missing.name.lower(),
            "at": outcome.at.spelling,
            "languages": [str(tag) for tag in outcome.languages],
        }
        code, title, said, advice = self._missing_words(outcome)
        return Alert(code, HTTPStatus.NOT_FOUND, title, said, facts, advice, silence=outcome.silence)

    def _missing_words(self, outcome: RelatedItemMissing) -> _Words:
        _, label = self._gettext, outcome.at.spelling
        match outcome.missing:
            case Missing.FILE:
                return self._missing_file_words(label)
            case Missing.TRANSLATION:
                return self._missing_translation_words(outcome)
            case Missing.METADATA:
                said = _("No Archive provides the metadata of {label} in this format.").format(label=label)
                return "no-such-metadata", _("Metadata not found"), said, self._other_metadata(outcome)
            case Missing.BELIEVABLE_URL:
                said = _("The Archive that has {label} gives an address on a host that is not known to be its own.")
                told = _("Report this to the administrator of this resolver: the Archive must declare its hosts.")
                return "url-refused", _("The address was refused"), said.format(label=label), (Advice(told),)
            case Missing.ADDRESS:
                said = _("{archives} says that it has {label}, and gives no address for it.")
                keepers = ", ".join(archive.address for archive in outcome.keepers)
                said = said.format(label=label, archives=keepers)
                about = self._links.to_changed(
                    _("See its metadata as a page:"), label=outcome.at, relation=_METADATA, file_path=None
                )
                return "related-item-missing", _("The Archive gives no address"), said, (about,)
            case Missing.ITEM:
                said = _("The target of the link, {label}, is in none of the Archives of this resolver.")
                said, itself = said.format(label=label), self._links.to_item()
                return "related-item-missing", _("Target of the link not found"), said, (itself,)
            case Missing.RELATION:
                said = _("{label} exists, but {relation} leads to nothing.")
                said, itself = said.format(label=label, relation=outcome.relation.modifier), self._links.to_item()
                return "related-item-missing", _("Target of the link not found"), said, (itself,)

    def _missing_file_words(self, label: str) -> _Words:
        _ = self._gettext
        if self._url.file_list:
            said = _("No Archive provides a list of the files of {label}.").format(label=label)
            return "no-such-file", _("List of files not found"), said, (self._links.to_item(),)
        said = _("{label} has no file named {path}.").format(label=label, path=(self._url.shown_path or "/")[1:201])
        listed = self._links.to_changed(_("See the list of files:"), file_list=True, file_path=None)
        return "no-such-file", _("File not found"), said, (listed,)

    def _missing_translation_words(self, outcome: RelatedItemMissing) -> _Words:
        """Return the words with links to the languages that there are."""
        _, label = self._gettext, outcome.at.spelling
        there = tuple(self._links.to_language(outcome.at, outcome.relation, tag) for tag in outcome.languages)
        if is_of_metadata(outcome.relation):
            said = _("The metadata of {label} is not available in the requested language.").format(label=label)
            other = self._links.to_changed(_("See its metadata as a page:"), label=outcome.at, relation=_METADATA)
        else:
            said, other = self._untranslated_words(label, outcome.languages), self._links.to_item()
        return "no-such-translation", _("Translation not found"), said, there or (other,)

    def _untranslated_words(self, label: str, there: tuple[LanguageTag, ...]) -> str:
        _ = self._gettext
        steps = (step for step in self._url.relation.steps if isinstance(step, Translation))
        wanted = [str(step.language) for step in steps if step.language is not None]
        offered = ", ".join(map(str, there))
        if len(wanted) == 1:
            said = _("{label} is not available in {language}; available: {offered}.")
            said = said if offered else _("{label} is not available in {language}, nor in another language.")
            return said.format(label=label, language=wanted[0], offered=offered)
        said = _("{label} is not available in the requested language; available: {offered}.")
        said = said if offered else _("{label} is not available in the requested language, nor in another one.")
        return said.format(label=label, offered=offered)

    def _other_metadata(self, outcome: RelatedItemMissing) -> tuple[Advice, ...]:
        """Return links to other metadata of an item that lacks the requested one."""
        _, at = self._gettext, outcome.at
        asked = next(step for step in outcome.relation.steps if isinstance(step, Metadata))
        formats = {
            Metadata(): _("See its metadata as a page:"),
            _OAI_DC: _("See its metadata as Dublin Core:"),
        }
        others = [(words, Relation((step,))) for step, words in formats.items() if step != asked]
        others.append((_("See the item itself:"), Relation.ITSELF))
        return tuple(
            self._links.to_changed(words, label=at, relation=relation, file_list=False, file_path=None)
            for words, relation in others
        )

    def _original_not_found(self, outcome: OriginalNotFound) -> Alert:
        _, label = self._gettext, outcome.label.spelling
        if outcome.is_out_of_reach:
            return self._original_out_of_reach(outcome)
        return Alert(
            "original-not-found",
            HTTPStatus.NOT_FOUND,
            _("Original not found"),
            _("There are Copies of {label}, but no Archive that answered has the Original.").format(label=label),
            {"at": label, "copies": archive_records(outcome.copies)},
            (self._links.to_changed(_("Use a Copy instead:"), required_original=False),),
            self._copies(outcome.copies, label),
            outcome.silence,
        )

    def _original_out_of_reach(self, outcome: OriginalNotFound) -> Alert:
        """Return the alert for R 5.2: there always is an Original, so its holder did not answer (E20, E24)."""
        _, ngettext, label = self._gettext, self._ngettext, outcome.label.spelling
        home: dict[str, object] | None = None
        if outcome.away is not None:
            said = _("{archive}, which should have the Original of {label}, is switched off at the moment.")
            said = said.format(archive=outcome.away.labels[0].spelling, label=label)
            home = {"address": None, "ibi": forms_record(outcome.away)}
        elif outcome.home is not None:
            said = _("{archive}, which should have the Original of {label}, does not answer.")
            said, home = said.format(archive=outcome.home.address, label=label), archive_record(outcome.home)
        else:
            number = len(outcome.silence.silent)
            said = ngettext(
                "No Archive that answered has its Original. {number} Archive did not answer, and may have it.",
                "No Archive that answered has its Original. {number} Archives did not answer, and may have it.",
                number,
            ).format(number=number)
        return Alert(
            "original-not-reached",
            HTTPStatus.GATEWAY_TIMEOUT if outcome.timed_out else HTTPStatus.BAD_GATEWAY,
            _("The Original cannot be reached"),
            said,
            {"at": label, "home": home, "copies": archive_records(outcome.copies)},
            (self._links.to_changed(_("Use a Copy instead:"), required_original=False),),
            self._copies(outcome.copies, label),
            outcome.silence,
            RETRY_AFTER,
        )

    def _original_disputed(self, outcome: OriginalDisputed) -> Alert:
        _, label = self._gettext, outcome.label.spelling
        claimants = ", ".join(archive.address for archive in outcome.claimants)
        said = _("{number} Archives claim the Original of {label}: {archives}. Only one of them can have it.")
        return Alert(
            "original-disputed",
            HTTPStatus.CONFLICT,
            _("More than one Archive claims the Original"),
            said.format(number=len(outcome.claimants), label=label, archives=claimants),
            {"at": label, "claimants": archive_records(outcome.claimants)},
            (
                Advice(_("Report this to the administrators of these Archives or of this resolver.")),
                self._links.to_changed(_("Use the most trusted one:"), required_original=False),
            ),
            (Group(_("Archives that claim the Original"), outcome.claimants, label),),
        )

    def _to_confirm(self, outcome: Redirect) -> Alert:
        _ = self._gettext
        host = host_of(authority_of(outcome.url))
        said = _("{archive} says that {label} is on {host}, which is not known to be a host of its own.")
        return Alert(
            "url-to-confirm",
            HTTPStatus.MULTIPLE_CHOICES,
            _("External address"),
            said.format(archive=outcome.archive.address, label=self._label, host=host),
            {"url": outcome.url, "host": host, "archive": archive_record(outcome.archive)},
            (Advice(_("Go there only if you trust that host:"), outcome.url, outcome.url),),
        )

    def _unproven(self, outcome: UnprovenClaims) -> Alert:
        _, home = self._gettext, outcome.home
        facts: dict[str, object] = {
            "at": outcome.label.spelling,
            "why": outcome.why.value,
            "home": self._home_record(outcome),
            "claims": [claim_record(claim) for claim in outcome.claims],
        }
        return Alert(
            "unproven-claim",
            HTTPStatus.MULTIPLE_CHOICES,
            _("This link cannot be confirmed"),
            self._unproven_words(outcome),
            facts,
            tuple(self._claim(claim) for claim in outcome.claims),
            () if home is None else (Group(_("The Archive that would decide"), (home,), outcome.label.spelling),),
            outcome.silence,
        )

    def _unproven_words(self, outcome: UnprovenClaims) -> str:
        _, label = self._gettext, outcome.label.spelling
        match outcome.why:
            case Unsettled.HOME_SILENT:
                said = _(
                    "{archive}, which decides about {label}, does not answer."
                    " What others claim cannot be compared with it."
                )
            case Unsettled.NOT_OFFERED:
                said = _("{archive} has {label}, but not what was asked for. Another Archive claims to have that.")
            case Unsettled.SEVERAL:
                said = _("{archive}, which decides about {label}, does not have it. Others claim to have it.")
            case Unsettled.NOT_CERTAIN:
                said = _(
                    "{archive}, which decides about {label}, does not have it, and cannot tell whether it assigned"
                    " that label. Another Archive claims to have it, and nothing proves that."
                )
            case Unsettled.DIFFERENT_ITEMS:
                said = _(
                    "{label} was assigned before 2008, so that no Archive decides about it. It is claimed for"
                    " different items."
                )
        return said.format(archive=self._home_name(outcome), label=label)

    def _home_name(self, outcome: UnprovenClaims) -> str:
        _ = self._gettext
        if outcome.home is not None:
            return outcome.home.address
        return _("the Archive") if outcome.away is None else outcome.away.labels[0].spelling

    def _home_record(self, outcome: UnprovenClaims) -> dict[str, object] | None:
        if outcome.home is not None:
            return archive_record(outcome.home)
        return None if outcome.away is None else {"address": None, "ibi": forms_record(outcome.away)}

    def _claim(self, claim: UnprovenClaim) -> Advice:
        _ = self._gettext
        if not claim.is_offered:
            said = _("{archive} claims to have it, and does not offer what was asked for. See the item itself:")
            said = said.format(archive=claim.archive.address)
        elif claim.item is not None:
            said = _("{archive} says that it is {label}. Go there only if you trust that Archive:")
            said = said.format(archive=claim.archive.address, label=claim.item.spelling)
        else:
            said = _("{archive} claims to have it. Go there only if you trust that Archive:")
            said = said.format(archive=claim.archive.address)
        return Advice(said, claim.url, claim.url)

    def _copies(self, copies: tuple[ArchiveRef, ...], label: str) -> tuple[Group, ...]:
        _ = self._gettext
        return (Group(_("Archives that have a Copy"), copies, label),) if copies else ()
