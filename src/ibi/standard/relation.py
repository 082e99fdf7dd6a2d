"""The relation of something to an item: its last edition, a translation, metadata, or a chain of these (R §8.1, §9.2).

One type has three notations: the modifier of a persistent URL, the verbs of a request, and the qualifier of an answer's
names. `!:(oai_dc)`, `GetLastEdition GetMetadata(oai_dc)` and `.lastedition.metadata(oai_dc)` are the same relation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import ClassVar, Final, NamedTuple

from ibi.standard.errors import InvalidRelation
from ibi.standard.languages import InvalidLanguageTag, LanguageTag

FILE_LIST: Final = "GetFileList"
"""The fourth verb of R Table 8.4. It is beside a relation, not part of it: its position has no meaning."""

# Tables 8.1, 8.4 and 9.5 have one format, oai_dc. E21: others are in use, and are names.
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
    """The metadata, in a format of the Archive's choice if none is named. Formats compare without case (E35)."""

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

# R Table 8.1 (and 9.5): mdf = ([u [t]] | [t [u]]) [m [t]]. Every prefix and every suffix of a shape is a shape: the
# parser below and `without_prefix` rely on it.
_SHAPES: Final = frozenset(first + second for first in ("", "u", "ut", "t", "tu") for second in ("", "m", "mt"))

_OUTSIDE_GRAMMAR = (
    "last edition and translation come first, in either order and once each, then metadata, then a translation of it"
)

_KINDS: Final[Mapping[str, type[Step]]] = {"u": LastEdition, "t": Translation, "m": Metadata}


def _shape(steps: Iterable[Step]) -> str:
    return "".join(step.kind for step in steps)


@dataclass(frozen=True, eq=False)
class _Notation:
    """The names of the kinds of steps, and the pattern of one step: its name and its parameter."""

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
    """Steps from an item, in order. No steps: the item itself.

    Only the fifteen shapes of R Tables 8.1 and 9.5 exist; any other raises `InvalidRelation`, the only error raised
    here. Names are parsed in any case and written as in the standard. `registered` allows only languages of Appendix B
    or ISO, as required for input of people; otherwise any letters are allowed (E28).
    """

    steps: tuple[Step, ...] = ()
    # Computed on demand: most relations are read many times and never written.
    _qualifier: str | None = field(default=None, init=False, repr=False, compare=False)

    ITSELF: ClassVar[Relation]

    def __post_init__(self) -> None:
        if self.steps and _shape(self.steps) not in _SHAPES:
            raise InvalidRelation(self.modifier, 0, _OUTSIDE_GRAMMAR)

    @classmethod
    def from_modifier(cls, text: str, *, registered: bool = True) -> Relation:
        """Parse `!:(oai_dc)`."""
        return _read_relation(_MODIFIER, text, registered)

    @classmethod
    def from_verbs(cls, verbs: str | Iterable[str], *, registered: bool = True) -> Relation:
        """Parse verbs, one by one or in one text; `GetFileList` is not among them (see `VerbList`)."""
        relation, file_list = VerbList.parse(verbs, registered=registered)
        if file_list:
            raise InvalidRelation(FILE_LIST, 0, "GetFileList is no relation")
        return relation

    @classmethod
    def from_qualifier(cls, text: str, *, registered: bool = False) -> Relation:
        """Parse `.lastedition.metadata(oai_dc)`, the part after `url`, `ibi`, `state` … in the name of a pair."""
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
        """True if Appendix B or ISO has every language in it."""
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
        """True if GetLastEdition is anywhere in it."""
        return LastEdition() in self.steps

    @property
    def ends_in_metadata(self) -> bool:
        return isinstance(self.steps[-1] if self.steps else None, Metadata)

    @property
    def ends_in_metadata_format(self) -> bool:
        """True if its last step is metadata in a named format."""
        return self.ends_in_metadata and self.metadata_format is not None

    @property
    def asks_metadata(self) -> bool:
        """True if it yields metadata, translated or not, rather than data."""
        return any(isinstance(step, Metadata) for step in self.steps)

    @property
    def metadata_format(self) -> str | None:
        """The format in its metadata step, wherever that step is."""
        return next((step.format for step in self.steps if isinstance(step, Metadata)), None)

    @property
    def open_translations(self) -> tuple[int, ...]:
        """The indices in `steps` of translations without a language: the reader's preferences choose one."""
        if not self.steps:  # as in most links
            return ()
        return tuple(index for index, step in enumerate(self.steps) if step == Translation())

    def matches(self, offered: Relation) -> bool:
        """Return whether `offered` satisfies this relation exactly; an open translation accepts any language, or
        none."""
        return len(self.steps) == len(offered.steps) and all(map(_matches, self.steps, offered.steps))

    def begins_with(self, prefix: Relation) -> bool:
        return self.steps[: len(prefix.steps)] == prefix.steps

    def proper_prefixes(self) -> tuple[Relation, ...]:
        """Return the shorter relations with which it begins, longest first, without the empty one."""
        return tuple(Relation(self.steps[:length]) for length in range(len(self.steps) - 1, 0, -1))

    def without_prefix(self, prefix: Relation) -> Relation:
        """Return the steps after `prefix`, which may be in its wanted or its offered form."""
        head = Relation(self.steps[: len(prefix.steps)])
        if not (head.matches(prefix) or prefix.matches(head)):
            raise InvalidRelation(self.modifier, 0, "it does not begin with {prefix}", prefix=prefix.modifier)
        return Relation(self.steps[len(prefix.steps) :])

    def without_step(self, index: int) -> Relation:
        """Return the same without one step.

        The rest must be a relation: a translation or last edition can always be removed.
        """
        return Relation(self.steps[:index] + self.steps[index + 1 :])

    def with_language(self, index: int, tag: LanguageTag) -> Relation:
        """Return the same with the language `tag` for the open translation at `index`."""
        return self._with_translation(index, Translation(tag))

    def without_language(self, index: int) -> Relation:
        """Return the same with the translation at `index` open."""
        return self._with_translation(index, Translation())

    def _with_translation(self, index: int, translation: Translation) -> Relation:
        before = self.steps[index]
        if not isinstance(before, Translation) or (before.language is None) == (translation.language is None):
            raise InvalidRelation(self.modifier, 0, "there is no such translation in it")
        return Relation((*self.steps[:index], translation, *self.steps[index + 1 :]))


Relation.ITSELF = Relation()


class VerbList(NamedTuple):
    """The content of a list of verbs: a relation, and whether the list of files is requested."""

    relation: Relation
    file_list: bool = False

    @classmethod
    def parse(cls, verbs: str | Iterable[str], *, registered: bool = True) -> VerbList:
        """Parse verbs, one by one or in one text with blanks or `+` between them (E14).

        A verb right after the same verb with the same parameter is dropped (E15).
        """
        words = _words(verbs)
        return cls(Relation(_without_repetition(_steps_of_verbs(words, registered))), _asks_file_list(words))

    @classmethod
    def union(cls, modifier: Relation, verbs: str | Iterable[str], *, registered: bool = True) -> VerbList:
        """Return the union of a modifier and the verbs of a query (E15).

        A verb that repeats one of the modifier's, with the same parameter, is dropped. If the result is no relation
        because a verb occurs once with and once without a parameter, the one without is dropped.
        """
        words = _words(verbs)
        added = (step for step in _steps_of_verbs(words, registered) if step not in modifier.steps)
        steps = _without_repetition((*modifier.steps, *added))
        # Metadata never occurs twice in a relation, a translation may: it is reduced only if that is still needed.
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
    """Return the single verbs: R Table 8.4 joins them by `+`, R Table 8.8 by a blank (E14)."""
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
    """Return the steps without direct repetitions: a verb right after the same verb adds nothing (E15, R §8.2)."""
    return tuple(step for step, _ in groupby(steps))


def _without_bare(steps: tuple[Step, ...], kind: str) -> tuple[Step, ...]:
    """Return `steps` without its bare step of a kind, if that kind occurs exactly twice, once bare and once not."""
    alike = [step for step in steps if step.kind == kind]
    if len(alike) != 2 or (alike[0].parameter is None) == (alike[1].parameter is None):
        return steps
    return tuple(step for step in steps if step.kind != kind or step.parameter is not None)


def _read_relation(notation: _Notation, text: str, registered: bool) -> Relation:
    # The same few relations are parsed again and again; a long text is not worth caching.
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
    """Return the step of a kind that a pattern has matched, with its parameter."""
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
