"""Runs of text put together as sentences."""

from __future__ import annotations

from collections.abc import Iterable

from ibi.archive.citation.work import Run

_ENDS = (".", "!", "?", "…", "。")


def end_sentence(*runs: Run) -> tuple[Run, ...]:
    """The runs as a sentence: with a full stop at the end, if nothing like it stands there. None of no text."""
    kept = tuple(run for run in runs if run.text)
    if not kept or kept[-1].text.rstrip('”’»")').endswith(_ENDS):
        return kept
    return (*kept, Run("."))


def citation(sentences: Iterable[tuple[Run, ...]]) -> tuple[Run, ...]:
    """Sentences with spaces between them, and neighbours of one type in one run."""
    joined: list[Run] = []
    for sentence in filter(None, sentences):
        for run in (Run(" "), *sentence) if joined else sentence:
            if joined and joined[-1].italic == run.italic:
                joined[-1] = Run(joined[-1].text + run.text, run.italic)
            else:
                joined.append(run)
    return tuple(joined)
