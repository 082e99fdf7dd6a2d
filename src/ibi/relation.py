"""How one thing stands to an item: its last edition, a translation, metadata, or a chain of these (R §8.1, §9.2).

One type, three notations: the modifier of a persistent URL, the verbs of a request, the qualifier of an answer's names.
`!:(oai_dc)`, `GetLastEdition GetMetadata(oai_dc)` and `.lastedition.metadata(oai_dc)` are the same relation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import ClassVar, Final, NamedTuple

from ibi.errors import InvalidRelation
from ibi.languages import InvalidLanguageTag, LanguageTag

FILE_LIST: Final = "GetFileList"
"""The fourth verb of R Table 8.4. It stands beside a relation, not in it: its position says nothing."""

# Tables 8.1, 8.4 and 9.5 know one format, oai_dc. E21: others are in use, and are names.
_FORMAT = re.compile("[A-Za-z][A-Za-z0-9_-]*")
_OAI_DC = "oai_dc"


@dataclass(frozen=True, slots=True)
class LastEdition:
    """The newest edition."""

    kind: ClassVar[str] = "u"
    parameter: ClassVar[None] = None

    def matches(self, offered: Step) -> bool:
        return self == offered


@dataclass(frozen=True, slots=True)
class Translation:
    """The text in a language; in the reader's own if none is named."""

    language: LanguageTag | None = None

    kind: ClassVar[str] = "t"

    @property
    def parameter(self) -> str | None:
        return None if self.language is None else str(self.language)

    def matches(self, offered: Step) -> bool:
        return isinstance(offered, Translation) and self.language in (None, offered.language)


@dataclass(frozen=True, slots=True, eq=False)
class Metadata:
    """The metadata; in any form the Archive likes if no format is named. Formats compare without case (E35)."""

    format: str | None = None

    kind: ClassVar[str] = "m"

    def __post_init__(self) -> None:
        if self.format is None:
            return
        if not _FORMAT.fullmatch(self.format):
            raise InvalidRelation(self.format, 0, "a metadata format is a name such as oai_dc")
        if self.format.lower() == _OAI_DC:
            object.__setattr__(self, "format", _OAI_DC)

    @property
    def parameter(self) -> str | None:
        return self.format

    @property
    def _folded_format(self) -> str | None:
        return self.format and self.format.lower()

    def matches(self, offered: Step) -> bool:
        return self == offered

    def __eq__(self, other: object) -> bool:
        return self._folded_format == other._folded_format if isinstance(other, Metadata) else NotImplemented

    def __hash__(self) -> int:
        return hash((Metadata, self._folded_format))


Step = LastEdition | Translation | Metadata

# R Table 8.1 (and 9.5): mdf = ([u [t]] | [t [u]]) [m [t]]
# Every beginning and every end of a shape is a shape: the reader below and `without_prefix` rely on it.
_SHAPES: Final = frozenset(first + second for first in ("", "u", "ut", "t", "tu") for second in ("", "m", "mt"))

_OUTSIDE_GRAMMAR = (
    "last edition and translation come first, in either order and once each, then metadata, then a translation of it"
)

_KINDS: Final[Mapping[str, type[Step]]] = {"u": LastEdition, "t": Translation, "m": Metadata}


def _shape(steps: Iterable[Step]) -> str:
    return "".join(step.kind for step in steps)


@dataclass(frozen=True, eq=False)
class _Notation:
    """How each kind of step is called, and the pattern of one step: its name and its parameter."""

    names: Mapping[str, str]
    pattern: re.Pattern[str]
    wrong: str

    def write(self, step: Step) -> str:
        name, parameter = self.names[step.kind], step.parameter
        return name if parameter is None else f"{name}({parameter})"

    def kind_called(self, name: str) -> str | None:
        return next((kind for kind, own in self.names.items() if own.lower() == name.lower()), None)


# R Table 8.1: u = "!", t = "+" ["(" idioma ["-" país] ")"], m = ":" ["(" formato ")"]
_MODIFIER = _Notation(
    {"u": "!", "t": "+", "m": ":"},
    re.compile(r"([!+:])(?:\(([^()]*)\))?"),
    "a modifier is made of !, +, +(language), : and :(format)",
)
# R Table 8.4: verbo = "GetTranslation" ["(" … ")"] | "GetLastEdition" | "GetMetadata" ["(" … ")"] | "GetFileList"
_VERB = _Notation(
    {"u": "GetLastEdition", "t": "GetTranslation", "m": "GetMetadata"},
    re.compile(r"([A-Za-z]+)(?:\(([^()]*)\))?"),
    "the verbs are GetLastEdition, GetTranslation, GetMetadata and GetFileList",
)
# R Table 9.5: u = ".lastedition", t = ".translation" ["(" … ")"], m = ".metadata" ["(" … ")"]
_QUALIFIER = _Notation(
    {"u": ".lastedition", "t": ".translation", "m": ".metadata"},
    re.compile(r"(\.[A-Za-z]+)(?:\(([^()]*)\))?"),
    "a qualifier is made of .lastedition, .translation and .metadata",
)


@dataclass(frozen=True, slots=True)
class Relation:
    """Steps to be taken in order from an item. No steps: the item itself.

    Only the fifteen shapes of R Tables 8.1 and 9.5 exist; `InvalidRelation` is raised for any other, and is the only
    error that anything here raises. Names are read in any case and written as the standard writes them.
    `registered` admits only languages of Appendix B or ISO, as asked of what people type; otherwise any letters (E28).
    """

    steps: tuple[Step, ...] = ()
    # Most relations are read many times and never written: this is made on demand.
    _qualifier: str | None = field(default=None, init=False, repr=False, compare=False)

    ITSELF: ClassVar[Relation]

    def __post_init__(self) -> None:
        if self.steps and _shape(self.steps) not in _SHAPES:
            raise InvalidRelation(self.modifier, 0, _OUTSIDE_GRAMMAR)

    @classmethod
    def from_modifier(cls, text: str, *, registered: bool = True) -> Relation:
        """Read `!:(oai_dc)`."""
        return _read_relation(_MODIFIER, text, registered)

    @classmethod
    def from_verbs(cls, verbs: str | Iterable[str], *, registered: bool = True) -> Relation:
        """Read verbs, one by one or in one text; `GetFileList` is not among them (see `VerbList`)."""
        relation, file_list = VerbList.parse(verbs, registered=registered)
        if file_list:
            raise InvalidRelation(FILE_LIST, 0, "GetFileList is no relation")
        return relation

    @classmethod
    def from_qualifier(cls, text: str, *, registered: bool = False) -> Relation:
        """Read `.lastedition.metadata(oai_dc)`, what follows `url`, `ibi`, `state` … in the name of a pair."""
        return _read_relation(_QUALIFIER, text, registered)

    @property
    def modifier(self) -> str:
        return "".join(map(_MODIFIER.write, self.steps))

    @property
    def verbs(self) -> tuple[str, ...]:
        return tuple(map(_VERB.write, self.steps))

    @property
    def qualifier(self) -> str:
        written = self._qualifier
        if written is None:
            written = "".join(map(_QUALIFIER.write, self.steps))
            object.__setattr__(self, "_qualifier", written)
        return written

    def __str__(self) -> str:
        return self.modifier

    @property
    def is_itself(self) -> bool:
        return not self.steps

    @property
    def is_registered(self) -> bool:
        """Whether Appendix B or ISO knows every language in it."""
        return all(tag.is_registered for tag in self.languages)

    @property
    def languages(self) -> tuple[LanguageTag, ...]:
        return tuple(step.language for step in self.steps if isinstance(step, Translation) and step.language)

    @property
    def begins_with_last_edition(self) -> bool:
        return bool(self.steps) and isinstance(self.steps[0], LastEdition)

    @property
    def ends_in_last_edition(self) -> bool:
        return bool(self.steps) and isinstance(self.steps[-1], LastEdition)

    @property
    def asks_last_edition(self) -> bool:
        """Whether GetLastEdition is anywhere in it."""
        return LastEdition() in self.steps

    @property
    def ends_in_metadata(self) -> bool:
        return isinstance(self.steps[-1] if self.steps else None, Metadata)

    @property
    def ends_in_metadata_format(self) -> bool:
        """Whether its last step is metadata in a format that is named."""
        return self.ends_in_metadata and self.metadata_format is not None

    @property
    def asks_metadata(self) -> bool:
        """Whether it yields metadata, translated or not, rather than data."""
        return any(isinstance(step, Metadata) for step in self.steps)

    @property
    def metadata_format(self) -> str | None:
        """The format that its metadata step names, wherever that step is."""
        return next((step.format for step in self.steps if isinstance(step, Metadata)), None)

    @property
    def open_translations(self) -> tuple[int, ...]:
        """Where in `steps` a translation names no language: the reader's preferences choose one."""
        if not self.steps:  # as in most links
            return ()
        return tuple(index for index, step in enumerate(self.steps) if step == Translation())

    def matches(self, offered: Relation) -> bool:
        """Whether `offered` is what this one wants: exactly, but an open translation takes any language, or none."""
        return len(self.steps) == len(offered.steps) and all(map(_matches, self.steps, offered.steps))

    def begins_with(self, prefix: Relation) -> bool:
        return self.steps[: len(prefix.steps)] == prefix.steps

    def proper_prefixes(self) -> tuple[Relation, ...]:
        """The shorter relations it begins with, longest first, without the empty one."""
        return tuple(Relation(self.steps[:length]) for length in range(len(self.steps) - 1, 0, -1))

    def without_prefix(self, prefix: Relation) -> Relation:
        """What remains to be done once `prefix` is: written as it was wanted, or as it was offered."""
        head = Relation(self.steps[: len(prefix.steps)])
        if not (head.matches(prefix) or prefix.matches(head)):
            raise InvalidRelation(self.modifier, 0, "it does not begin with {prefix}", prefix=prefix.modifier)
        return Relation(self.steps[len(prefix.steps) :])

    def without_step(self, index: int) -> Relation:
        """The same without one step, if that leaves a relation: a translation or last edition can always go."""
        return Relation(self.steps[:index] + self.steps[index + 1 :])

    def with_language(self, index: int, tag: LanguageTag) -> Relation:
        """The same with the open translation at `index` in the language `tag`."""
        return self._with_translation(index, Translation(tag))

    def without_language(self, index: int) -> Relation:
        """The same with the translation at `index` open."""
        return self._with_translation(index, Translation())

    def _with_translation(self, index: int, translation: Translation) -> Relation:
        before = self.steps[index]
        if not isinstance(before, Translation) or (before.language is None) == (translation.language is None):
            raise InvalidRelation(self.modifier, 0, "there is no such translation in it")
        return Relation((*self.steps[:index], translation, *self.steps[index + 1 :]))


Relation.ITSELF = Relation()


class VerbList(NamedTuple):
    """What a list of verbs says: a relation, and whether the list of files is asked for."""

    relation: Relation
    file_list: bool = False

    @classmethod
    def parse(cls, verbs: str | Iterable[str], *, registered: bool = True) -> VerbList:
        """Read verbs, given one by one or in one text with blanks or `+` between them (E14). One that follows the same
        verb with the same parameter is dropped (E15)."""
        words = _words(verbs)
        return cls(Relation(_without_repetition(_steps_of_verbs(words, registered))), _asks_file_list(words))

    @classmethod
    def union(cls, modifier: Relation, verbs: str | Iterable[str], *, registered: bool = True) -> VerbList:
        """E15: what a modifier and the verbs of a query say together.

        A verb that repeats one of the modifier's, parameter and all, is dropped. If the outcome is no relation because
        a verb is there once with and once without a parameter, the one without goes.
        """
        words = _words(verbs)
        added = (step for step in _steps_of_verbs(words, registered) if step not in modifier.steps)
        steps = _without_repetition((*modifier.steps, *added))
        # Metadata never stands twice in a relation, a translation may: it is reduced only if that is still needed.
        for kind in "mt":
            if _shape(steps) not in _SHAPES:
                steps = _without_bare(steps, kind)
        return cls(Relation(steps), _asks_file_list(words))

    @property
    def verbs(self) -> tuple[str, ...]:
        return (*self.relation.verbs, FILE_LIST) if self.file_list else self.relation.verbs

    def __str__(self) -> str:
        return " ".join(self.verbs)


def _matches(wanted: Step, offered: Step) -> bool:
    return wanted.matches(offered)


def _words(verbs: str | Iterable[str]) -> list[str]:
    """E14: R Table 8.4 joins verbs by `+`, R Table 8.8 by a blank."""
    return verbs.replace("+", " ").split(" ") if isinstance(verbs, str) else list(verbs)


def _asks_file_list(words: Iterable[str]) -> bool:
    return any(word.lower() == FILE_LIST.lower() for word in words)


def _steps_of_verbs(words: Iterable[str], registered: bool) -> Iterator[Step]:
    for word in words:
        if not word or word.lower() == FILE_LIST.lower():
            continue
        match = _VERB.pattern.fullmatch(word)
        kind = match and _VERB.kind_called(match[1])
        if match is None or kind is None:
            raise InvalidRelation(word, 0, _VERB.wrong)
        yield _step(match, kind, registered)


def _without_repetition(steps: Iterable[Step]) -> tuple[Step, ...]:
    """E15: a verb right after the same verb adds nothing (R §8.2)."""
    return tuple(step for step, _ in groupby(steps))


def _without_bare(steps: tuple[Step, ...], kind: str) -> tuple[Step, ...]:
    """`steps` without its bare step of a kind, if that kind is there exactly twice, once bare and once not."""
    alike = [step for step in steps if step.kind == kind]
    if len(alike) != 2 or (alike[0].parameter is None) == (alike[1].parameter is None):
        return steps
    return tuple(step for step in steps if step.kind != kind or step.parameter is not None)


def _read_relation(notation: _Notation, text: str, registered: bool) -> Relation:
    # The same few relations are read over and over; a long text is not worth remembering.
    return (_read_and_remember if len(text) <= 64 else _read_anew)(notation, text, registered)


def _read_anew(notation: _Notation, text: str, registered: bool) -> Relation:
    steps: list[Step] = []
    shape, offset = "", 0
    while offset < len(text):
        match = notation.pattern.match(text, offset)
        kind = match and notation.kind_called(match[1])
        if match is None or kind is None:
            raise InvalidRelation(text, offset, notation.wrong)
        shape += kind
        if shape not in _SHAPES:
            raise InvalidRelation(text, offset, _OUTSIDE_GRAMMAR)
        steps.append(_step(match, kind, registered))
        offset = match.end()
    return Relation(tuple(steps))


_read_and_remember = lru_cache(maxsize=4096)(_read_anew)


def _step(match: re.Match[str], kind: str, registered: bool) -> Step:
    """The step of a kind that a pattern has found, with its parameter."""
    parameter = match[2]
    if parameter is None:
        return _KINDS[kind]()
    if kind == "u":
        raise InvalidRelation(match.string, match.start(2), "last edition takes nothing in parentheses")
    try:
        return Translation(LanguageTag.parse(parameter, registered=registered)) if kind == "t" else Metadata(parameter)
    except (InvalidLanguageTag, InvalidRelation) as error:
        place = match.start(2) + error.offset
        raise InvalidRelation(match.string, place, error.reason, **error.details) from error
