"""The common part of all requests: the service that is asked, a subject, and pairs in a query (R §6.1)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import ClassVar, Final, TypeVar

from ibi.standard.errors import InvalidMessage
from ibi.standard.label import Label, parse
from ibi.standard.messages import values
from ibi.standard.messages.url_list import Deletion, UrlList, parse_url_list
from ibi.standard.messages.values import MissingSubject, UnknownSubject, decode_query, encode_query, select
from ibi.standard.pairs import Pairs, encoded_word
from ibi.standard.vocabulary import ArchiveProtocol

SUBJECT: Final = "servicesubject"
"""The pair that makes a query a request."""
_SUBJECT_ALONE: Final = frozenset({SUBJECT})

T = TypeVar("T")
Some = TypeVar("Some", bound="ServiceRequest")


@cache
def resolver_service() -> Label:
    """Return the IBI of the resolver's own service (R §6.1), the same for every resolver."""
    return parse("J8LNKB5R7W/3FUQHC5")


class ServiceSubject(StrEnum):
    """The subject of a request: the value of its `servicesubject`."""

    INCLUSION_REQUEST = "inclusionRequest"
    EXCLUSION_REQUEST = "exclusionRequest"
    INCLUSION_CONFIRMATION_REQUEST = "inclusionConfirmationRequest"
    URL_REQUEST = "urlRequest"
    ACKNOWLEDGMENT = "acknowledgment"


_subject = values.member(ServiceSubject)


def service_url(address: str, service: Label, protocol: ArchiveProtocol = ArchiveProtocol.HTTP) -> str:
    """Return the base URL of a service (R §6.1): `http://<address>/<IBI of the service>`."""
    return f"{protocol.scheme}://{values.read('archiveaddress', address, values.host_and_port)}/{service.spelling}"


class ServiceRequest:
    """The base of all requests: one subject, and pairs that are written sorted and read in any order."""

    __slots__ = ()

    subject: ClassVar[ServiceSubject]
    names: ClassVar[frozenset[str]]

    @classmethod
    def from_query(cls: type[Some], query: str) -> Some:
        """Parse a request of this kind.

        Raise `InvalidMessage` if it is another, or a pair is missing, wrong or repeated.
        """
        pairs = decode_query(query)
        subject = subject_among(pairs)
        if subject is not cls.subject:
            raise InvalidMessage(
                subject, 0, "a request of the kind {expected} was expected", expected=cls.subject.value
            )
        return cls.from_pairs(pairs)

    @classmethod
    def from_pairs(cls: type[Some], pairs: tuple[tuple[str, str], ...]) -> Some:
        """Read the pairs of a request of this kind; unknown pairs are ignored (R §6.1)."""
        return cls._from_pairs(select(pairs, cls.names))

    @classmethod
    @abstractmethod
    def _from_pairs(cls: type[Some], found: Mapping[str, str]) -> Some: ...

    @abstractmethod
    def _pairs(self) -> Iterator[tuple[str, str]]: ...

    def to_query(self) -> str:
        return encode_query(sorted([(SUBJECT, self.subject.value), *self._pairs()]))

    def to_url(self, address: str, service: Label, protocol: ArchiveProtocol = ArchiveProtocol.HTTP) -> str:
        """Return the whole request as one URL, for the service with that IBI at that Web address."""
        return f"{service_url(address, service, protocol)}?{self.to_query()}"


def subject_of(query: str) -> ServiceSubject | None:
    """Return the subject of a query; None if it has none, so that its URL is an ordinary persistent URL (R §6.1)."""
    try:
        return subject_among(decode_query(query))
    except MissingSubject:
        return None


def subject_among(pairs: tuple[tuple[str, str], ...]) -> ServiceSubject:
    """Return the subject of a request; the errors distinguish a missing one from an unknown one."""
    text = select(pairs, _SUBJECT_ALONE).get(SUBJECT)
    if text is None:
        raise MissingSubject(SUBJECT, 0, "the pair {name} is missing", name=SUBJECT)
    try:
        return _subject(text)
    except InvalidMessage as error:
        raise UnknownSubject(text, 0, error.reason, **error.details) from None


def take(found: Mapping[str, str], name: str, reader: Callable[[str], T]) -> T:
    """Return the result of `reader` for a required pair."""
    return values.read(name, found.get(name), reader)


class _OneLineAnswer:
    __slots__ = ()

    def to_pairs(self) -> Pairs:
        raise NotImplementedError

    def encode(self) -> bytes:
        """Return the body of the answer."""
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
    """The Archive has been included, and did or did not answer the call back (R §7.2, message 5)."""

    confirmed: bool
    reason: str | None = None
    """The kind of failure of the call back, from a separate header (`IBI-Reason`, E73)."""

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

    `text` is kept in its transmitted form: one blank between words, and percent-encoded where a list of pairs requires
    it. It may quote anything, even invalid Unicode: the answer to a hostile request must not fail itself.
    """

    text: str

    def __post_init__(self) -> None:
        # The mark for omissions in our messages is the only sign in them that is not ASCII.
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
    """Return the answer to a request about `subject`, or an `ErrorAnswer`; None only for a `urlRequest`."""
    return ErrorAnswer.from_pairs(pairs) if "error" in pairs else _READERS[subject](pairs)
