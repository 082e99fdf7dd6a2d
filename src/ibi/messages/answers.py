"""Answers: the lists of pairs that come back (R §7.2, §9.2; E18). `url_list` has the one that is more than a constant.

Every answer turns into `Pairs` and is read from them; `encode` gives the bytes of the body, constants on one line as
the standard prints them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from ibi.messages import values
from ibi.messages.service import ServiceSubject
from ibi.messages.url_list import Deletion, UrlList, parse_url_list
from ibi.pairs import Pairs, encoded_word


class _OneLineAnswer:
    __slots__ = ()

    def to_pairs(self) -> Pairs:
        raise NotImplementedError

    def encode(self) -> bytes:
        """The body of the answer."""
        return self.to_pairs().encode_on_one_line()


@dataclass(frozen=True, slots=True)
class Confirmation(_OneLineAnswer):
    """`confirmation yes`: the Archive is there (R §7.2, message 4)."""

    @classmethod
    def from_pairs(cls, pairs: Pairs) -> Confirmation:
        values.read_word(pairs, "confirmation", _exactly("yes"))
        return cls()

    def to_pairs(self) -> Pairs:
        return Pairs([("confirmation", "yes")])


@dataclass(frozen=True, slots=True)
class Notice(_OneLineAnswer):
    """`notice {acknowledgment received}` (R Algorithm 1, line 20)."""

    @classmethod
    def from_pairs(cls, pairs: Pairs) -> Notice:
        values.read_words(pairs, "notice", lambda words: _exactly("acknowledgment received")(" ".join(words)))
        return cls()

    def to_pairs(self) -> Pairs:
        return Pairs([("notice", ("acknowledgment", "received"))])


@dataclass(frozen=True, slots=True)
class InclusionStatus(_OneLineAnswer):
    """The Archive has been included, and did or did not answer when it was called back (R §7.2, message 5)."""

    confirmed: bool
    reason: str | None = None
    """Why it did not: the name of a kind of failure, in a header of its own (`IBI-Reason`, E73)."""

    @classmethod
    def from_pairs(cls, pairs: Pairs) -> InclusionStatus:
        values.read_word(pairs, "status.archive", _exactly("included"))
        return cls(
            values.read_word(pairs, "status.confirmation", _exactly("successful", "unsuccessful")) == "successful"
        )

    def to_pairs(self) -> Pairs:
        confirmation = "successful" if self.confirmed else "unsuccessful"
        return Pairs([("status.archive", "included"), ("status.confirmation", confirmation)])


@dataclass(frozen=True, slots=True)
class ExclusionStatus(_OneLineAnswer):
    """`status.archive excluded`: the Archive is no longer asked (R §7.2, message 8)."""

    @classmethod
    def from_pairs(cls, pairs: Pairs) -> ExclusionStatus:
        values.read_word(pairs, "status.archive", _exactly("excluded"))
        return cls()

    def to_pairs(self) -> Pairs:
        return Pairs([("status.archive", "excluded")])


@dataclass(frozen=True, slots=True)
class ErrorAnswer(_OneLineAnswer):
    """`error {…}`: a request that could not be served (E18).

    `text` is kept as it travels: one blank between words, and what a list of pairs cannot hold percent-encoded. It may
    quote anything, also what is no Unicode: the answer to a hostile request must not fail in its turn.
    """

    text: str

    def __post_init__(self) -> None:
        # The mark of what our messages leave out is the one sign of theirs that is not ASCII.
        text = self.text.replace("…", "...").encode(errors="replace").decode()
        object.__setattr__(self, "text", " ".join(map(encoded_word, text.split())))

    @classmethod
    def from_pairs(cls, pairs: Pairs) -> ErrorAnswer:
        return cls(values.read_words(pairs, "error", _join_words))

    def to_pairs(self) -> Pairs:
        return Pairs([("error", tuple(self.text.split()))])


def _join_words(words: tuple[str, ...]) -> str:
    return " ".join(words)


def _exactly(*constants: str) -> Callable[[str], str]:
    return lambda text: values.one_of(text, *constants)


Answer = Confirmation | Notice | InclusionStatus | ExclusionStatus | ErrorAnswer | UrlList | Deletion

_READERS: Final[Mapping[ServiceSubject, Callable[[Pairs], Answer | None]]] = {
    ServiceSubject.INCLUSION_REQUEST: InclusionStatus.from_pairs,
    ServiceSubject.EXCLUSION_REQUEST: ExclusionStatus.from_pairs,
    ServiceSubject.INCLUSION_CONFIRMATION_REQUEST: Confirmation.from_pairs,
    ServiceSubject.URL_REQUEST: parse_url_list,
    ServiceSubject.ACKNOWLEDGMENT: Notice.from_pairs,
}


def parse_answer(subject: ServiceSubject, pairs: Pairs) -> Answer | None:
    """The answer to a request about `subject`: what R has for it, or an `ErrorAnswer`; None only to a `urlRequest`."""
    return ErrorAnswer.from_pairs(pairs) if "error" in pairs else _READERS[subject](pairs)
