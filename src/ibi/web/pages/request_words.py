"""A persistent URL described in words: each step of its modifier, and each of its other parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ibi.languages import LanguageTag
from ibi.persistent_url import PersistentUrl
from ibi.relation import LastEdition, Metadata, Relation, Step, Translation
from ibi.web.pages.translation import message


@dataclass(frozen=True, slots=True)
class Wish:
    """One part of a link. `sign` is its spelling, `words` its meaning; `detail` follows them, `language` by its
    name."""

    sign: str
    words: str
    detail: str | None = None
    language: LanguageTag | None = None


def wishes(url: PersistentUrl) -> tuple[Wish, ...]:
    return tuple(_wishes(url))


def _wishes(url: PersistentUrl) -> Iterator[Wish]:
    for step in url.relation.steps:
        yield _step(step)
    if url.file_list:
        yield Wish("GetFileList", message("the list of its files"))
    if url.file_path is not None:
        yield Wish("/", message("the file"), url.file_path[1:])
    if url.required_original:
        yield Wish("Original", message("the Original, and no copy of it"))
    if url.language is not None:
        yield Wish("language", message("for a reader of"), language=LanguageTag.parse(url.language, registered=False))
    if url.query:
        yield Wish("?", message("with this handed on to the item"), url.query_string)


def _step(step: Step) -> Wish:
    sign = Relation((step,)).modifier
    match step:
        case LastEdition():
            return Wish(sign, message("its last edition"))
        case Translation(None):
            return Wish(sign, message("its translation into a language that the reader understands"))
        case Translation(language):
            return Wish(sign, message("its translation into"), language=language)
        case Metadata(None):
            return Wish(sign, message("its metadata"))
        case Metadata(name):
            return Wish(sign, message("its metadata in the format"), name)
