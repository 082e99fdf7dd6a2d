"""What all requests have in common: a service that is asked, a subject, and pairs in a query (R §6.1)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from typing import ClassVar, Final, TypeVar

from ibi.errors import InvalidMessage
from ibi.label import Label, parse
from ibi.messages import values
from ibi.messages.query import MissingSubject, UnknownSubject, decode_query, encode_query, select
from ibi.vocabulary import ArchiveProtocol

SUBJECT: Final = "servicesubject"
"""The pair that makes a query a request."""
_SUBJECT_ALONE: Final = frozenset({SUBJECT})

T = TypeVar("T")
Some = TypeVar("Some", bound="ServiceRequest")


@cache
def resolver_service() -> Label:
    """The IBI of the resolver's own service (R §6.1), the same for every resolver."""
    return parse("J8LNKB5R7W/3FUQHC5")


class ServiceSubject(StrEnum):
    """What a request is about: the value of its `servicesubject`."""

    INCLUSION_REQUEST = "inclusionRequest"
    EXCLUSION_REQUEST = "exclusionRequest"
    INCLUSION_CONFIRMATION_REQUEST = "inclusionConfirmationRequest"
    URL_REQUEST = "urlRequest"
    ACKNOWLEDGMENT = "acknowledgment"


_subject = values.member(ServiceSubject)


def service_url(address: str, service: Label, protocol: ArchiveProtocol = ArchiveProtocol.HTTP) -> str:
    """The base URL of a service (R §6.1): `http://<address>/<IBI of the service>`."""
    return f"{protocol.scheme}://{values.read('archiveaddress', address, values.host_and_port)}/{service.spelling}"


class ServiceRequest:
    """What all requests share: one subject, and pairs that are written sorted and read in any order."""

    __slots__ = ()

    subject: ClassVar[ServiceSubject]
    names: ClassVar[frozenset[str]]

    @classmethod
    def from_query(cls: type[Some], query: str) -> Some:
        """Read a request of this kind; `InvalidMessage` if it is another, or a pair is missing, wrong or repeated."""
        pairs = decode_query(query)
        subject = subject_among(pairs)
        if subject is not cls.subject:
            raise InvalidMessage(
                subject, 0, "a request of the kind {expected} was expected", expected=cls.subject.value
            )
        return cls.from_pairs(pairs)

    @classmethod
    def from_pairs(cls: type[Some], pairs: tuple[tuple[str, str], ...]) -> Some:
        """Read the pairs of a request of this kind; those that it does not know are ignored (R §6.1)."""
        return cls._from_pairs(select(pairs, cls.names))

    @classmethod
    @abstractmethod
    def _from_pairs(cls: type[Some], found: Mapping[str, str]) -> Some: ...

    @abstractmethod
    def _pairs(self) -> Iterator[tuple[str, str]]: ...

    def to_query(self) -> str:
        return encode_query(sorted([(SUBJECT, self.subject.value), *self._pairs()]))

    def to_url(self, address: str, service: Label, protocol: ArchiveProtocol = ArchiveProtocol.HTTP) -> str:
        """The whole request as one URL, for the service with that IBI at that Web address."""
        return f"{service_url(address, service, protocol)}?{self.to_query()}"


def subject_of(query: str) -> ServiceSubject | None:
    """The subject of a query; None if it has none, so that its URL is an ordinary persistent URL (R §6.1)."""
    try:
        return subject_among(decode_query(query))
    except MissingSubject:
        return None


def subject_among(pairs: tuple[tuple[str, str], ...]) -> ServiceSubject:
    """The subject of a request; the errors tell a missing one from an unknown one."""
    text = select(pairs, _SUBJECT_ALONE).get(SUBJECT)
    if text is None:
        raise MissingSubject(SUBJECT, 0, "the pair {name} is missing", name=SUBJECT)
    try:
        return _subject(text)
    except InvalidMessage as error:
        raise UnknownSubject(text, 0, error.reason, **error.details) from None


def take(found: Mapping[str, str], name: str, reader: Callable[[str], T]) -> T:
    """What `reader` makes of a pair that has to be there."""
    return values.read(name, found.get(name), reader)
