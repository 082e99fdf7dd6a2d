"""What a question that leads no further says of the item (E20, E24)."""

from __future__ import annotations

from ibi.label import Label
from ibi.resolver.authority import Word
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
from ibi.resolver.trace import Failure

__all__ = ["deleted", "ending", "silence_of"]


def silence_of(question: Question) -> Silence:
    return Silence(len(question.notes), question.silent)


def ending(question: Question, hearing: Hearing, label: Label) -> Outcome:
    """The outcome if this question is where the search for `label` ends."""
    gone = deleted(question)
    if gone is not None:
        return gone
    if not hearing.heard and (not question.heard or question.word is not Word.NO_HOME):
        return _not_there(question, label)
    return _lacking(question, hearing, label)


def deleted(question: Question) -> Deleted | None:
    """E20: who decides is believed, or the known holder where the label has no home; any other only if none has a URL
    that is, and no holder is known."""
    copies = tuple(heard.archive for heard in question.heard if any(map(heard.is_believed, heard.answer.entries)))
    has_home = question.has_home
    deciders = question.deciders if has_home or question.holder is None else (question.holder,)
    believed = [
        (archive, deletion)
        for archive, deletion in question.deletions
        if archive in deciders or not (deciders or has_home or copies)
    ]
    if not believed or (has_home and question.word is not Word.DELETED):
        return None
    archive, deletion = believed[0]
    silence = Silence() if archive in deciders else silence_of(question)
    return Deleted(question.label, archive, deletion.timestamp, copies, silence)


def _not_there(question: Question, label: Label) -> Outcome:
    silence = silence_of(question)
    if question.word in (Word.SILENT, Word.AWAITED):
        home = question.deciders[0] if question.deciders else None
        late = _took_too_long(question)
        return NoArchiveAnswered(question.label, silence, home, timed_out=late, away=question.unreachable)
    if question.word is not Word.NO_HOME or question.is_early:
        return _unknown(question, label, silence)
    home_is_silent = question.holder in silence.silent
    if len(silence.silent) == silence.asked or home_is_silent:
        home = question.holder if home_is_silent else None
        return NoArchiveAnswered(question.label, silence, home, timed_out=_took_too_long(question))
    return _unknown(question, label, silence)


def _unknown(question: Question, label: Label, silence: Silence) -> Outcome:
    if not question.path:
        return NotFound(label, silence, other_spellings(label))
    return RelatedItemMissing(label, question.label, question.wanted.relation, Missing.ITEM, (), silence)


def _took_too_long(question: Question) -> bool:
    """Whether somebody is still expected to answer, or was given up: each Archive has a time of its own."""
    late = (note.failure is Failure.TIMED_OUT for note in question.notes.values())
    return bool(question.pending) or any(late)


def _lacking(question: Question, hearing: Hearing, label: Label) -> RelatedItemMissing:
    counted = question.heard if question.word is Word.NO_HOME else hearing.heard
    languages = languages_offered(question.wanted, (heard.answer for heard in counted))
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
