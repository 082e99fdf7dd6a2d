"""Requests of Archives to the resolver, and of the resolver to Archives (R §6.1, §7.2, §8.2).

Each is a frozen value. It is written as the query of a GET request, with its pairs sorted by name (E27), and read in
any order. Labels are sent as they were spelled on arrival.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Final

from ibi.standard.errors import InvalidMessage
from ibi.standard.label import Label, parse_any
from ibi.standard.messages import values
from ibi.standard.messages.answers import ServiceRequest, ServiceSubject, subject_among, subject_of, take
from ibi.standard.messages.identification import LabelForms, UrlKey
from ibi.standard.messages.membership import ExclusionRequest, InclusionConfirmationRequest, InclusionRequest
from ibi.standard.messages.values import IpAddress, MissingSubject, RepeatedPair, UnknownSubject, decode_query
from ibi.standard.relation import Relation, VerbList
from ibi.standard.vocabulary import ContentType, State


@dataclass(frozen=True, slots=True)
class UrlRequest(ServiceRequest):
    """The resolver asks an Archive for the location of an item (R Table 8.9).

    There is no field for the user's languages nor for a wish to see the Original: an Archive must not learn of either.
    `file_path` is decoded; octets that are not UTF-8 are in it as PEP 383 encodes them. `spelled_path` is the same as
    the link has it, with percent signs, so that the Archive gets the octets that the reader sent (E33).
    """

    client_addresses: tuple[IpAddress, ...]
    label: Label
    relation: Relation = Relation.ITSELF
    file_path: str | None = None
    file_list: bool = False
    spelled_path: str | None = field(default=None, compare=False, repr=False)

    subject: ClassVar[ServiceSubject] = ServiceSubject.URL_REQUEST
    names: ClassVar[frozenset[str]] = frozenset(
        {"clientinformation.ipaddress", "parsedibiurl.filepath", "parsedibiurl.ibi", "parsedibiurl.verblist"}
    )

    def __post_init__(self) -> None:
        values.read("clientinformation.ipaddress", self.client_addresses, values.checked_addresses)
        if self.file_path is not None:
            path = values.read("parsedibiurl.filepath", self.file_path, values.file_path)
            object.__setattr__(self, "file_path", path)

    @classmethod
    def _from_pairs(cls, found: Mapping[str, str]) -> UrlRequest:
        verbs = values.read("parsedibiurl.verblist", found.get("parsedibiurl.verblist", ""), _verb_list)
        return cls(
            client_addresses=take(found, "clientinformation.ipaddress", values.ip_addresses),
            label=take(found, "parsedibiurl.ibi", parse_any),
            relation=verbs.relation,
            file_path=found.get("parsedibiurl.filepath"),
            file_list=verbs.file_list,
        )

    def _pairs(self) -> Iterator[tuple[str, str]]:
        yield "clientinformation.ipaddress", " ".join(map(str, self.client_addresses))
        if self.file_path is not None:
            yield values.PATH_NAME, self.spelled_path or values.encode_value(self.file_path)
        yield "parsedibiurl.ibi", self.label.spelling
        if self.relation.steps or self.file_list:
            yield "parsedibiurl.verblist", str(VerbList(self.relation, self.file_list))


_ROBOT: Final = "clientinformation.robot"
_YES: Final = "yes"


@dataclass(frozen=True, slots=True)
class Acknowledgment(ServiceRequest):
    """The resolver tells an Archive that its URL was the one chosen (R Table 8.11).

    The resolver always gives `state`; a received request may lack it, as R Example 8.9 does (E19). `url` and
    `persistent_url` are written with their own percent signs (E25): `ibi.standard.messages.values` describes the result
    for a reader. `is_robot` is an extra pair, written only for robots: readers that do not know it ignore it (E32).
    """

    client_addresses: tuple[IpAddress, ...]
    content_type: ContentType
    url: str
    persistent_url: str
    url_key: UrlKey
    state: State | None
    ibi: LabelForms | None = None
    is_robot: bool = False

    subject: ClassVar[ServiceSubject] = ServiceSubject.ACKNOWLEDGMENT
    names: ClassVar[frozenset[str]] = frozenset(
        {"clientinformation.ipaddress", _ROBOT, "contenttype", "ibi", "state", "url", "url.persistent", "urlkey"}
    )

    def __post_init__(self) -> None:
        values.read("clientinformation.ipaddress", self.client_addresses, values.checked_addresses)
        if self.state is State.DELETED:
            raise InvalidMessage("state=Deleted", 6, "no reader is sent to what has been deleted")
        object.__setattr__(self, "url", values.read("url", self.url, values.url))
        object.__setattr__(self, "persistent_url", values.read("url.persistent", self.persistent_url, values.url))

    def for_clients(self, clients: tuple[IpAddress, ...]) -> Acknowledgment:
        """Return the same for other clients. Unchanged values were validated before, and are not validated again."""
        values.read("clientinformation.ipaddress", clients, values.checked_addresses)
        made, put = object.__new__(Acknowledgment), object.__setattr__
        put(made, "client_addresses", clients)
        put(made, "content_type", self.content_type)
        put(made, "url", self.url)
        put(made, "persistent_url", self.persistent_url)
        put(made, "url_key", self.url_key)
        put(made, "state", self.state)
        put(made, "ibi", self.ibi)
        put(made, "is_robot", self.is_robot)
        return made

    def for_robot(self) -> Acknowledgment:
        """Return the same for a robot."""
        made = self.for_clients(self.client_addresses)
        object.__setattr__(made, "is_robot", True)
        return made

    @classmethod
    def _from_pairs(cls, found: Mapping[str, str]) -> Acknowledgment:
        return cls(
            client_addresses=take(found, "clientinformation.ipaddress", values.ip_addresses),
            content_type=take(found, "contenttype", values.content_type),
            url=take(found, "url", str),
            persistent_url=take(found, "url.persistent", str),
            url_key=take(found, "urlkey", UrlKey),
            state=take(found, "state", values.state) if found.get("state") else None,
            ibi=take(found, "ibi", _fitting_forms) if found.get("ibi") else None,
            is_robot=found.get(_ROBOT, "").lower() == _YES,
        )

    def _pairs(self) -> Iterator[tuple[str, str]]:
        yield "clientinformation.ipaddress", " ".join(map(str, self.client_addresses))
        if self.is_robot:
            yield _ROBOT, _YES
        yield "contenttype", self.content_type.value
        if self.ibi is not None:
            yield "ibi", str(self.ibi)
        if self.state is not None:
            yield "state", self.state.value
        yield "url", self.url
        yield "url.persistent", self.persistent_url
        yield "urlkey", self.url_key.reveal()


NO_FILE: Final = "//"
"""Stands for a path that cannot be read: no file has an empty name."""

Request = InclusionRequest | ExclusionRequest | InclusionConfirmationRequest | UrlRequest | Acknowledgment

_KINDS: Final[Mapping[ServiceSubject, type[Request]]] = {
    kind.subject: kind
    for kind in (InclusionRequest, ExclusionRequest, InclusionConfirmationRequest, UrlRequest, Acknowledgment)
}


def parse_request(query: str) -> Request:
    """Parse a request of any kind.

    The error's `code` is `missing-subject`, `unknown-subject`, `missing-pair`, `repeated-pair` or, for everything else,
    `invalid-message`.
    """
    pairs = decode_query(query)
    return _KINDS[subject_among(pairs)].from_pairs(pairs)


def parse_archive_request(query: str) -> Request | ServiceSubject:
    """Parse a request as an Archive does.

    Return only the subject of a `urlRequest` or an acknowledgment with other pairs that are missing or cannot be read
    (E18). A path that cannot be read stands for a missing file (E16).

    R Algorithm 2, lines 2 to 4 answers that `urlRequest` with nothing, and a resolver that ignores the status would
    take any text for an answer. R Algorithm 1, line 20 reads no pair of an acknowledgment. An error in the subject, or
    in the pairs as such, is raised as in `parse_request`.
    """
    try:
        return parse_request(query)
    except (MissingSubject, UnknownSubject):
        raise
    except InvalidMessage as error:
        subject = subject_of(query)
        if subject is ServiceSubject.ACKNOWLEDGMENT:
            return subject
        if subject is not ServiceSubject.URL_REQUEST or isinstance(error, RepeatedPair):
            raise
        return _without_readable_path(query) or subject


def _without_readable_path(query: str) -> UrlRequest | None:
    """Return a request with an unreadable path as one for a missing file; None if anything else is wrong.

    R CRIARPARURL gives no URL if the item has no such file, and ignores the path beside `GetMetadata`.
    """
    pairs = decode_query(query)
    if not any(name == values.PATH_NAME for name, _ in pairs):
        return None
    try:
        request = UrlRequest.from_pairs(tuple(pair for pair in pairs if pair[0] != values.PATH_NAME))
    except InvalidMessage:
        return None
    object.__setattr__(request, "file_path", NO_FILE)
    return request


def _fitting_forms(text: str) -> LabelForms:
    """Return the fitting forms (E49): the forms from an Archive's answer come back unchanged."""
    return LabelForms.from_fitting_words(word for word in text.split(" ") if word)


def _verb_list(text: str) -> VerbList:
    # A resolver of another make sends its union by R 8.2: repetitions are dropped as in ours (E15).
    return VerbList.union(Relation.ITSELF, text, registered=False)
