"""What a question that leads no further says of the item (E20, E24)."""

from __future__ import annotations

from ibi.label import Label
from ibi.resolver.language import languages_offered
from ibi.resolver.outcome import (
    Deleted,
    Missing,
    NoArchiveAnswered,
    NotFound,
    Outcome,
    RelatedItemMissing,
    Silence,
    other_spellings,
)
from ibi.resolver.question import Question
from ibi.resolver.selection import Hearing

__all__ = ["deleted", "ending", "silence_of"]


def silence_of(question: Question) -> Silence:
    return Silence(len(question.notes), question.silent)


def ending(question: Question, hearing: Hearing, label: Label) -> Outcome:
    """The outcome if this question is where the search for `label` ends."""
    gone = deleted(question)
    if gone is not None:
        return gone
    return _not_there(question, label) if not question.heard else _lacking(question, hearing, label)


def deleted(question: Question) -> Deleted | None:
    """E20: the known holder is believed; anyone else only if nobody has a URL that is, and no holder is known."""
    copies = tuple(heard.archive for heard in question.heard if any(map(heard.is_believed, heard.answer.entries)))
    believed = [
        (archive, deletion)
        for archive, deletion in question.deletions
        if archive == question.holder or (question.holder is None and not copies)
    ]
    return Deleted(question.label, believed[0][0], believed[0][1].timestamp, copies) if believed else None


def _not_there(question: Question, label: Label) -> Outcome:
    silence = silence_of(question)
    home_is_silent = question.holder in silence.silent
    if len(silence.silent) == silence.asked or home_is_silent:
        home = question.holder if home_is_silent else None
        return NoArchiveAnswered(label, silence, home, timed_out=bool(question.pending))
    if not question.path:
        return NotFound(label, silence, other_spellings(label))
    return RelatedItemMissing(label, question.label, question.wanted.relation, Missing.ITEM, (), silence)


def _lacking(question: Question, hearing: Hearing, label: Label) -> RelatedItemMissing:
    languages = languages_offered(question.wanted, (heard.answer for heard in question.heard))
    relation = question.wanted.relation
    missing = _missing(question, hearing)
    return RelatedItemMissing(label, question.label, relation, missing, languages, silence_of(question))


def _missing(question: Question, hearing: Hearing) -> Missing:
    relation = question.wanted.relation
    if question.refused_url:
        return Missing.BELIEVABLE_URL
    if question.wanted.named_languages or hearing.choice(hearing.heard).undecided:
        return Missing.TRANSLATION
    if question.request.file_path is not None or question.request.file_list:
        return Missing.FILE  # E16
    if relation.is_itself:
        return Missing.ITEM
    return Missing.METADATA if relation.asks_metadata else Missing.RELATION
