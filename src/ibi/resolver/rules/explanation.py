"""The record of a question: which answers led on, and why the others did not."""

from __future__ import annotations

from dataclasses import replace

from ibi.membership.rules.authority import ArchiveRef, StandIn, Word, is_home
from ibi.resolver.rules.answers import Match, ReceivedAnswer
from ibi.resolver.rules.question import Question
from ibi.resolver.rules.trace import Hop, Outranking, Report, Verdict, outranking


def explain(question: Question) -> Hop:
    """Return the record of a question: the reply of each Archive, and why another answer was better."""
    question.forget_word()  # reports answers that came too late as well
    parent = question.path[-1].number if question.path else None
    reports = tuple(_explain(question, note.report(archive)) for archive, note in question.notes.items())
    return Hop(
        question.number,
        parent,
        question.label,
        question.wanted.asked,
        question.reason,
        reports,
        question.word,
        question.deciders,
    )


def _explain(question: Question, report: Report) -> Report:
    """Return the report with the reason why another answer was better, or why it stood in for the home."""
    if report.verdict.leads_on:
        return replace(report, stands_in=_stand_in(question, report.archive))
    if report.verdict is not Verdict.OUTRANKED:
        return report
    if question.word in (Word.GIVEN, Word.DELETED) and report.archive not in question.deciders:
        if _find_leading(question) is None and question.may_be_offered_elsewhere:
            return replace(report, verdict=Verdict.UNPROVEN)
        return replace(report, because=Outranking.HOME)
    if _needs_proof(question, report.archive):
        return replace(report, verdict=Verdict.UNPROVEN)
    if question.holder_deletion is not None:
        return replace(report, because=Outranking.HOLDER)
    heard, better = question.answer_from(report.archive), _find_leading(question)
    if heard is None or better is None:
        return replace(report, verdict=Verdict.NOT_FOLLOWED) if _only_points(question, report.archive) else report
    because = outranking(heard, better, holder=question.holder, relation=question.wanted.relation, among=question.heard)
    return replace(report, because=because)


def _needs_proof(question: Question, archive: ArchiveRef) -> bool:
    """Return whether its claims are not followed, because the deciding Archives are silent or cannot tell."""
    if archive in question.trusted:
        return False
    if question.word is Word.NOT_HERE:
        return question.is_disclaimed and archive not in question.authority.homes
    return question.word in (Word.SILENT, Word.AWAITED)


def _stand_in(question: Question, archive: ArchiveRef) -> StandIn | None:
    """Return why an Archive that does not decide counts while those that decide are silent; None if it does not."""
    if (
        question.word not in (Word.SILENT, Word.AWAITED)
        or archive not in question.trusted
        or is_home(archive, question.label)
    ):
        return None
    if archive in question.authority.copy_holders:
        return StandIn.COPY
    return StandIn.VOUCHED if archive.vouched else StandIn.APPOINTED


def _find_leading(question: Question) -> ReceivedAnswer | None:
    """Return the answer that was taken; or, if none was, the answer that was followed first."""
    for verdict in (Verdict.CHOSEN, Verdict.FOLLOWED):
        for heard in question.heard:
            if question.notes[heard.archive].verdict is verdict:
                return heard
    return None


def _only_points(question: Question, archive: ArchiveRef) -> bool:
    hearing = question.notes[archive].hearing
    return hearing is not None and not any(isinstance(lead, Match) for lead in hearing.leads())
