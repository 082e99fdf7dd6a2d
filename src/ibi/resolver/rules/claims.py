"""The answers of a question that count, and the claims that a reader is shown where none does (E66 to E69, E72)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ibi.items.model.item import name_one_item
from ibi.membership.rules.authority import ArchiveRef, Word
from ibi.resolver.rules.answers import AnswerSet, Match, ReceivedAnswer, Referral
from ibi.resolver.rules.outcome import Silence, UnprovenClaim, UnprovenClaims, Unsettled
from ibi.resolver.rules.question import Question
from ibi.standard.errors import InvalidPersistentUrl
from ibi.standard.language_choice import Preference
from ibi.standard.messages.identification import LabelForms
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.vocabulary import State


def answers_that_count(question: Question, *, follow_unproven: bool = False) -> tuple[ReceivedAnswer, ...]:
    """Return the answers that may be taken or followed, according to the home's answer.

    1. The home has the item: the answers of the Archives that decide.
    2. The home has no Original: the one answer that claims it.
    3. The home is silent: the answers of trusted Archives.
    """
    word, heard = question.word, tuple(question.heard)
    if word is Word.NO_HOME:
        return _claims_without_home(question, follow_unproven=follow_unproven)
    if word is Word.GIVEN:
        return tuple(each for each in heard if each.archive in question.deciders and each.state is not State.COPY)
    if word is Word.NOT_HERE:
        return () if question.is_denied else _sole_claim(question, heard, follow_unproven=follow_unproven)
    if follow_unproven:
        return heard
    return tuple(each for each in heard if _is_trusted(question, each))


def _claims_without_home(question: Question, *, follow_unproven: bool) -> tuple[ReceivedAnswer, ...]:
    """Return all answers.

    For a label of before 2008, return none if the claims differ, else those about the claimed item (E72).
    """
    heard = tuple(question.heard)
    if follow_unproven or question.label.is_dated or len(heard) < 2:
        return heard
    if claims_differ(question):
        return ()
    meant = _items_claimed(question)
    return tuple(each for each in heard if any(name_one_item(each.answer.ibi, item) for item in meant[:1])) or heard


def claims_differ(question: Question) -> bool:
    """Return whether a label of before 2008, which has no home, is claimed for different items (E72)."""
    if question.label.is_dated or len(question.heard) < 2:
        return False
    items = _items_claimed(question)
    return not all(name_one_item(each, items[0]) for each in items[1:])


def _items_claimed(question: Question) -> list[LabelForms]:
    """Return the items for which a label without a home is claimed.

    A Copy is no claim against an Original, which outranks it (R §7.2). A useless answer is no claim, unless all answers
    are useless.
    """
    originals = [each for each in question.heard if _claims_original(question, each)]
    claims = originals or question.heard
    return [each.answer.ibi for each in _of_use(question, claims) or originals]


def _is_trusted(question: Question, heard: ReceivedAnswer) -> bool:
    """Return whether an answer is trusted.

    A home that gave the Original away and kept a Copy is trusted too, unless it still claims the Original.
    """
    if heard.archive in question.authority.homes:
        return heard.state is not State.ORIGINAL
    return heard.archive in question.trusted


def _sole_claim(
    question: Question, heard: Sequence[ReceivedAnswer], *, follow_unproven: bool
) -> tuple[ReceivedAnswer, ...]:
    """Return the answers to follow when the home transferred the item and does not say where (R §5.2).

    1. Exactly one Archive claims the Original: follow it.
    2. Two claims differ: follow none.
    3. No claim: follow the Copy of the home or of a trusted Archive, else the only Copy.

    If the home did name a successor and that successor has nothing, it may have given the item back to the home. Then
    only the home and trusted Archives are followed. If the home cannot tell whether it ever gave the label away, only
    the home and trusted Archives are followed (E62).
    """
    heard = tuple(heard)
    if question.is_disclaimed and not follow_unproven:
        heard = _of_home_or_trusted(question, heard)
    useful = _of_use(question, heard)
    if question.successors and not follow_unproven:
        return _of_home_or_trusted(question, useful)
    claims = tuple(each for each in useful if _claims_original(question, each))
    if claims:
        return claims if follow_unproven or _agree(question, claims) else ()
    # If no Archive has the wanted entry, the Archive that has the item is asked for less, and reports what it lacks.
    return _sole_copy(question, useful or heard, follow_unproven=follow_unproven)


def _sole_copy(
    question: Question, copies: tuple[ReceivedAnswer, ...], *, follow_unproven: bool
) -> tuple[ReceivedAnswer, ...]:
    own = tuple(each for each in copies if each.archive in question.deciders or each.archive in question.trusted)
    return own or (copies if len(copies) == 1 or follow_unproven else ())


def _of_home_or_trusted(question: Question, heard: Sequence[ReceivedAnswer]) -> tuple[ReceivedAnswer, ...]:
    return tuple(each for each in heard if each.archive in question.authority.homes or _is_trusted(question, each))


def _of_use(question: Question, heard: Sequence[ReceivedAnswer]) -> tuple[ReceivedAnswer, ...]:
    """Return the answers that have the URL or a pointer."""
    return tuple(each for each in heard if _lead_of(question, each) is not None)


def _lead_of(question: Question, heard: ReceivedAnswer) -> Match | Referral | None:
    hearing = question.notes[heard.archive].hearing
    return None if hearing is None else hearing.best


def _agree(question: Question, claims: Sequence[ReceivedAnswer]) -> bool:
    """Return whether there is only one claim, or all claims point to the same item."""
    return len(claims) == 1 or _name_one_lead(question, claims) or _name_one_edition(question, claims)


def _name_one_lead(question: Question, claims: Sequence[ReceivedAnswer]) -> bool:
    first, *others = (_lead_of(question, each) for each in claims)
    return isinstance(first, Referral) and all(
        isinstance(each, Referral) and each.wanted == first.wanted and name_one_item(each.forms, first.forms)
        for each in others
    )


def _name_one_edition(question: Question, claims: Sequence[ReceivedAnswer]) -> bool:
    """Return whether the last edition is wanted, and all claims name the same next edition."""
    if not question.wanted.relation.begins_with_last_edition:
        return False
    first, *others = (each.answer.next_edition for each in claims)
    return first is not None and all(each is not None and name_one_item(each, first) for each in others)


def _claims_original(question: Question, heard: ReceivedAnswer) -> bool:
    """Return whether an Archive that does not decide claims the Original, of the item or of the wanted relation.

    An answer that gives no state may be of the Original, and counts as a claim.
    """
    if heard.archive in question.deciders:
        return False
    if heard.state is not None:
        return heard.state is State.ORIGINAL
    entry = heard.answer.entry(question.wanted.relation)
    return entry is None or entry.state is not State.COPY


def trusted_elsewhere(question: Question, *, follow_unproven: bool = False) -> tuple[ReceivedAnswer, ...]:
    """Return the answers to follow for a relation that the home, which has the item, does not offer (R §9.2, E68)."""
    others = (each for each in question.heard if each.archive not in question.deciders)
    return tuple(each for each in others if follow_unproven or _is_trusted(question, each))


def claims_to_show(
    question: Question, url: PersistentUrl, base: str, preferences: Sequence[Preference], silence: Silence
) -> UnprovenClaims | None:
    """Return the claims to show if no answer may be followed; None if there are none."""
    why = _why_unsettled(question)
    if why is None:
        return None
    claims = tuple(_claims(question, url, base, preferences)) or tuple(_claims_of_the_item(question, url, base))
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
    if word is not Word.NOT_HERE or question.is_denied:
        return None
    return Unsettled.NOT_CERTAIN if question.is_disclaimed and not question.successors else Unsettled.SEVERAL


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


def _claims_of_the_item(question: Question, url: PersistentUrl, base: str) -> Iterator[UnprovenClaim]:
    """Yield the Archives that claim the item but do not offer the relation, so that the item does not appear
    unknown."""
    target = PersistentUrl(question.label, query=url.query)
    if question.word is not Word.NOT_HERE or target == url:
        return
    counted = {each.archive for each in answers_that_count(question)}
    for heard in question.heard:
        if heard.archive not in counted:
            yield UnprovenClaim(heard.archive, target.text(base), None, question.label, is_offered=False)


def _pointer(archive: ArchiveRef, lead: Referral, url: PersistentUrl, base: str) -> UnprovenClaim:
    label = lead.forms.labels[0]
    try:
        target = replace(url, label=label, relation=lead.wanted.relation)
    except InvalidPersistentUrl:  # the Archive chose a language that does not exist, or a label that is too long
        target = PersistentUrl(label)
    return UnprovenClaim(archive, target.text(base), None, label)
