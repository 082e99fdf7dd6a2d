"""Names of creators, split into parts as far as their spelling allows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from ibi.items.model.metadata import Agent

# Words in the names of institutions, in the languages most frequent here. Without a comma, a name with one of these
# words is not split.
_INSTITUTION: Final = re.compile(
    r"\b(?:academ\w+|agencia|agência|agency|arquivo|archive|assoc\w+|bank|banco|bureau|cent(?:er|re|ro)|coleg\w+|colég\w+"
    r"|college|comiss[aã]o|commission|comisi[oó]n|committee|company|companhia|confedera\w+|consel\w+|consórcio|consortium"
    r"|coopera\w+|corp\w*|council|department|departamento|divis\w+|empresa|escola|escuela|federa\w+|funda[cç]\w+"
    r"|foundation|gmbh|governo|government|group|grupo|hospital|igreja|inc|institu\w+|laborat\w+|library|biblioteca"
    r"|limited|ltd[a]?|minist\w+|museu\w*|museo|national|nacional|office|organi[sz]a\w+|press|prefeitura|project|projeto"
    r"|rede|network|research|s\.?a\.?$|school|secretaria|servi[cç]\w+|service|societ\w+|sociedad\w*|society|superinten\w+"
    r"|team|tribunal|uni[aã]o|union|universi\w+|working)\b",
    re.IGNORECASE,
)
_CAPITALS: Final = re.compile(r"[A-Z0-9&/.-]{2,}")
_PARTICLES: Final = frozenset(
    "af al bin d da das de del della den der des di do dos du e el ibn la las le los ten ter van vom von y zu".split()
)
# These belong to the surname before them, as in Portuguese: Almeida Filho.
_DEGREES: Final = frozenset(
    "filho filha junior júnior neto neta sobrinho segundo terceiro jr jr. sr sr. ii iii iv".split()
)
# Scripts that write no spaces, or put the family name first. It is unknown how such a name is inverted.
_FAMILY_FIRST: Final = re.compile(
    r"[\u1100-\u11ff\u3040-\u30ff\u3130-\u318f\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]"
)
_LONGEST: Final = 300
# Controls, ends of lines and paragraphs, and characters that change the direction of the following text.
_ISOLATES: Final = dict.fromkeys(range(0x2066, 0x206A))
"""Isolates come in pairs, which inverting a name would separate."""
_BREAKING: Final = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029, *range(0x202A, 0x202F)), " ")


@dataclass(frozen=True, slots=True)
class Name:
    """The family and given names of a person, or the name of an institution, which has only `family`."""

    family: str
    given: str = ""
    is_person: bool = True

    @property
    def inverted(self) -> str:
        return f"{self.family}, {self.given}" if self.given else self.family

    @property
    def straight(self) -> str:
        return f"{self.given} {self.family}" if self.given else self.family

    @property
    def given_and_particles(self) -> tuple[str, str]:
        """The given names and the particles after them: `Ana Maria` and `da` of `Ana Maria da`."""
        words = self.given.split()
        end = len(words)
        while end > 1 and words[end - 1].lower() in _PARTICLES:
            end -= 1
        return " ".join(words[:end]), " ".join(words[end:])

    @property
    def initials(self) -> str:
        """The initials: `G. J. F.`, or `J.-P.` for `Jean-Paul`. Particles have none."""
        given = [word for word in self.given.split() if word.lower() not in _PARTICLES]
        return " ".join("-".join(f"{part[0].upper()}." for part in word.split("-") if part) for word in given).strip()


def one_line(text: str) -> str:
    """Return the value on one line, without characters that end the line or change its direction."""
    return " ".join(text.translate(_BREAKING).split())


def read_name(agent: Agent) -> Name:
    """Return the parts of `Banon, Gerald Jean Francis`, `Gerald Banon` or the name of an institution. It never
    fails."""
    line = one_line(agent.name[: 10 * _LONGEST].translate(_ISOLATES))[:_LONGEST]
    text = line.strip(" ,;") or line or "?"
    family, comma, given = text.partition(",")
    if comma and family.strip() and given.strip(" ,"):
        # Banco, Ana is a person; Banco Central, Rio and INPE, Divisão de Sensoriamento are institutions.
        named = given if len(family.split()) == 1 else text
        if agent.orcid is None and _INSTITUTION.search(named):
            return Name(text, is_person=False)
        return Name(family.strip(), given.strip(" ,"))
    if agent.orcid is None and _is_institution(text):
        return Name(text, is_person=False)
    return _person(text.split())


def _is_institution(text: str) -> bool:
    words = text.split()
    return (
        len(words) == 1
        or bool(_INSTITUTION.search(text))
        or bool(_FAMILY_FIRST.search(text))
        or any(character in text for character in "()&/:0123456789")
        or all(_CAPITALS.fullmatch(word) for word in words)
        or len(words) > 7
    )


def _person(words: list[str]) -> Name:
    """Return the person. The family name is the last word, with a degree of kinship after it; particles stay with the
    given names."""
    end = len(words)
    while end > 1 and words[end - 1].lower() in _DEGREES:
        end -= 1
    return Name(" ".join(words[end - 1 :]), " ".join(words[: end - 1]))
