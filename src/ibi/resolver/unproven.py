"""Which answers count where a label has a home, and which claims are shown instead of followed (E66 to E69)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ibi.errors import InvalidPersistentUrl
from ibi.language_range import Preference
from ibi.model.item import name_one_item
from ibi.persistent_url import PersistentUrl
from ibi.resolver.answers import AnswerSet, Match, ReceivedAnswer, Referral
from ibi.resolver.authority import ArchiveRef, Word
from ibi.resolver.outcome import Silence, UnprovenClaim, UnprovenClaims, Unsettled
from ibi.resolver.question import Question
from ibi.vocabulary import State


def answers_that_count(question: Question, *, follow_unproven: bool = False) -> tuple[ReceivedAnswer, ...]:
    """The answers that may be taken or followed, by what the home has said.

    With its word they are those of who decides. Without an Original there, it is the one that claims it. While it is
    silent, they are those of the Archives that are trusted.
    """
    word, heard = question.word, tuple(question.heard)
    if word is Word.NO_HOME:
        return () if claims_differ(question) and not follow_unproven else heard
    if word is Word.GIVEN:
        return tuple(each for each in heard if each.archive in question.deciders and each.state is not State.COPY)
    if word is Word.NOT_HERE:
        return () if question.is_denied else _sole_claim(question, heard, follow_unproven=follow_unproven)
    if follow_unproven:
        return heard
    return tuple(each for each in heard if _is_trusted(question, each))


def claims_differ(question: Question) -> bool:
    """Whether a label of before 2008, which has no home, is claimed for different items (E72)."""
    if question.label.is_dated or len(question.heard) < 2:
        return False
    named = [each.answer.ibi for each in question.heard if _lead_of(question, each) is not None]
    return not all(name_one_item(each, named[0]) for each in named[1:])


def _is_trusted(question: Question, heard: ReceivedAnswer) -> bool:
    """Also a home that gave the Original away, and kept a Copy: it is believed unless it claims the Original still."""
    if heard.archive in question.authority.homes:
        return heard.state is not State.ORIGINAL
    return heard.archive in question.trusted


def _sole_claim(
    question: Question, heard: Sequence[ReceivedAnswer], *, follow_unproven: bool
) -> tuple[ReceivedAnswer, ...]:
    """R §5.2: the home transferred the item, and does not say where to. One that claims the Original is followed, of
    two that differ none; without one, the Copy of the home, of who is trusted, or the only one there is.

    Where the home did say where to, and the successor has nothing, it may have given the item back: the home alone is
    followed then.
    """
    leads = {each.archive: _lead_of(question, each) for each in heard}
    useful = tuple(each for each in heard if leads[each.archive] is not None)
    claims = tuple(each for each in useful if _claims_original(question, each))
    if question.successors and not follow_unproven:
        return tuple(each for each in useful if each.archive in question.authority.homes or _is_trusted(question, each))
    if claims:
        agree = _agree([leads[each.archive] for each in claims]) or _name_one_edition(question, claims)
        return claims if agree or follow_unproven else ()
    own = tuple(each for each in useful if each.archive in question.deciders or each.archive in question.trusted)
    return own or (useful if len(useful) == 1 or follow_unproven else ())


def _lead_of(question: Question, heard: ReceivedAnswer) -> Match | Referral | None:
    hearing = question.notes[heard.archive].hearing
    return None if hearing is None else hearing.best


def _agree(leads: Sequence[Match | Referral | None]) -> bool:
    """Whether there is one alone, or all point to one and the same item."""
    first, *others = leads
    if not isinstance(first, Referral):
        return not others
    return all(
        isinstance(each, Referral) and each.wanted == first.wanted and name_one_item(each.forms, first.forms)
        for each in others
    )


def _name_one_edition(question: Question, claims: Sequence[ReceivedAnswer]) -> bool:
    """Whether the last edition is wanted, and all know of the same next one."""
    if not question.wanted.relation.begins_with_last_edition:
        return False
    first, *others = (each.answer.next_edition for each in claims)
    return first is not None and all(each is not None and name_one_item(each, first) for each in others)


def _claims_original(question: Question, heard: ReceivedAnswer) -> bool:
    """Whether an Archive that does not decide claims the Original, of the item or of what is wanted of it; an answer
    that does not tell may be of the Original."""
    if heard.archive in question.deciders:
        return False
    if heard.state is not None:
        return heard.state is State.ORIGINAL
    entry = heard.answer.entry(question.wanted.relation)
    return entry is None or entry.state is not State.COPY


def trusted_elsewhere(question: Question, *, follow_unproven: bool = False) -> tuple[ReceivedAnswer, ...]:
    """Whose answers are followed for what the home, which has the item, does not offer (R §9.2, E68)."""
    others = (each for each in question.heard if each.archive not in question.deciders)
    return tuple(each for each in others if follow_unproven or _is_trusted(question, each))


def claims_to_show(
    question: Question, url: PersistentUrl, base: str, preferences: Sequence[Preference], silence: Silence
) -> UnprovenClaims | None:
    """What is shown if nothing was found that may be followed; None if there is nothing to show."""
    why = _why_unsettled(question)
    if why is None:
        return None
    claims = tuple(_claims(question, url, base, preferences))
    if not claims:
        return None
    home = question.deciders[0] if question.deciders else None
    return UnprovenClaims(question.label, claims, why, home, silence, question.unreachable)


def _why_unsettled(question: Question) -> Unsettled | None:
    word = question.word
    if word is Word.NO_HOME:
        return Unsettled.DIFFERENT_ITEMS if claims_differ(question) else None
    if word in (Word.SILENT, Word.AWAITED):
        return Unsettled.HOME_SILENT
    if word is Word.GIVEN and question.may_be_offered_elsewhere:
        return Unsettled.NOT_OFFERED
    return Unsettled.SEVERAL if word is Word.NOT_HERE and not question.is_denied else None


def _claims(
    question: Question, url: PersistentUrl, base: str, preferences: Sequence[Preference]
) -> Iterator[UnprovenClaim]:
    for heard in question.heard:
        was_followed = question.word is not Word.NOT_HERE and _is_trusted(question, heard)
        if heard.archive in question.deciders or was_followed:
            continue
        lead = next(AnswerSet(question.wanted, (heard,), preferences, None).leads(), None)
        if isinstance(lead, Match) and lead.entry.url is not None:
            if not url.required_original or lead.entry.state is State.ORIGINAL:
                # Where several items may be meant, the reader has to see which (E72).
                item = None if question.label.is_dated else heard.answer.ibi.labels[0]
                yield UnprovenClaim(heard.archive, lead.entry.url, lead.entry.state, item)
        elif isinstance(lead, Referral):
            yield _pointer(heard.archive, lead, url, base)


def _pointer(archive: ArchiveRef, lead: Referral, url: PersistentUrl, base: str) -> UnprovenClaim:
    label = lead.forms.labels[0]
    try:
        target = replace(url, label=label, relation=lead.wanted.relation)
    except InvalidPersistentUrl:  # the Archive chose a language that does not exist, or a label that is too long
        target = PersistentUrl(label)
    return UnprovenClaim(archive, target.text(base), None, label)
