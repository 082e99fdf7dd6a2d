"""R Algorithm 1, MONTARRESPOSTA: one request to the Archive's service, one answer.

The answer to a `urlRequest` is all but constant: only its key changes every time. `StaticAnswer` is that constant part,
to be kept by a server that answers often.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ibi.archive.profile import ArchiveProfile, Reader
from ibi.archive.url_key import KeySubject, UrlKeys
from ibi.archive.url_list import Assembler, has_url
from ibi.instant import Instant
from ibi.label import Label
from ibi.messages.answers import Confirmation, Notice
from ibi.messages.home_fields import Field, copies_field, transferred_field
from ibi.messages.membership import InclusionConfirmationRequest
from ibi.messages.query import UnknownSubject
from ibi.messages.requests import Acknowledgment, Request, UrlRequest, parse_request
from ibi.messages.url_list import Deletion, UrlList
from ibi.ports.catalog import Catalog
from ibi.vocabulary import State

_CONFIRMATION = Confirmation().encode()
_NOTICE = Notice().encode()
_URLKEY = b"\r\nurlkey "


@dataclass(frozen=True, slots=True)
class StaticAnswer:
    """The answer to a `urlRequest` but for the key, and how long and for whom it is true.

    `urlkey` sorts after every other name of R Table 9.3: its pair is always the last.
    """

    body: bytes
    subject: KeySubject | None = None
    """What the key speaks for; None if the answer has no URL and so no key."""
    depends_on_client: bool = False
    """Whether a client elsewhere gets another answer: then neither other clients nor caches may use it (E32)."""
    good_until: Instant | None = None
    """When it stops being true by itself, because an embargo ends."""
    message: UrlList | Deletion | None = field(default=None, repr=False, compare=False)
    """What `body` says, for a caller in this process, which need not parse it."""
    missing: Label | None = None
    """The label of which nothing is known here, if that is the answer (R Algorithm 2, line 4)."""
    transferred_to: Label | None = None
    """The service of the Archive to which the Original was given (E63)."""
    copies_at: tuple[Label, ...] = ()
    """The services of Archives that hold Copies of this Original (E64)."""
    fields: tuple[Field, ...] = field(init=False, repr=False, compare=False)
    """What the last two say as header fields."""
    is_lasting: bool = field(init=False, repr=False, compare=False)
    """Whether it may be cached by all, for the longest time there is. "Not here" may not: the item may be deposited in
    a minute."""

    def __post_init__(self) -> None:
        is_lasting = self.body != b"" and not self.depends_on_client and self.good_until is None
        object.__setattr__(self, "is_lasting", is_lasting)
        fields = () if self.transferred_to is None else (transferred_field(self.transferred_to),)
        object.__setattr__(self, "fields", (*fields, copies_field(self.copies_at)) if self.copies_at else fields)

    def max_age(self, now: Instant, most: int) -> int:
        """For how many seconds, at most `most`, a recipient may give it to others: `Cache-Control` of E32."""
        if self.depends_on_client:
            return 0
        if self.good_until is None:
            return most
        left = self.good_until.seconds - now.seconds - (now.fraction > self.good_until.fraction)
        return max(0, min(most, left))

    def with_key(self, keys: UrlKeys, seconds: int, random: int) -> bytes:
        """The whole answer, with the key of this second; `random` is as for `UrlKeys.make`."""
        if self.subject is None:
            return self.body
        return self.body + _URLKEY + keys.make(self.subject, seconds, random)

    def message_with_key(self, keys: UrlKeys, seconds: int, random: int) -> UrlList | Deletion | None:
        """What would be read from `with_key`; None from nothing."""
        if self.subject is None or not isinstance(self.message, UrlList):
            return self.message
        return self.message.with_key(keys.issue(self.subject, seconds, random))


def static_answer(
    profile: ArchiveProfile, catalog: Catalog, request: UrlRequest, now: Instant, keys: UrlKeys
) -> StaticAnswer:
    """R Algorithm 1, lines 16 and 17."""
    item = catalog.find(request.label)
    if item is None:
        transfer = catalog.transfer(request.label)
        return StaticAnswer(b"", missing=request.label, transferred_to=None if transfer is None else transfer.to)
    reader = Reader(request.client_addresses, now)
    told = Assembler(profile, catalog, request, reader).of_item(item)
    subject = keys.subject(told.ibi, request.relation) if has_url(told) else None
    return StaticAnswer(
        told.encode(),
        subject,
        reader.depends_on_client,
        reader.good_until,
        told,
        transferred_to=item.transferred_to,
        copies_at=profile.copies_at if item.state is State.ORIGINAL else (),
    )


def answer(
    profile: ArchiveProfile, catalog: Catalog, query: str, now: Instant, random: int, keys: UrlKeys
) -> tuple[bytes, Request]:
    """The body of the answer, and the request it answers: an acknowledgment is still to be counted.

    `InvalidMessage` for what is no request to an Archive (E18).
    """
    request = parse_request(query)
    if isinstance(request, InclusionConfirmationRequest):  # lines 2 to 4
        return _CONFIRMATION, request
    if isinstance(request, UrlRequest):  # lines 5 to 18
        found = static_answer(profile, catalog, request, now, keys)
        return found.with_key(keys, now.seconds, random), request
    if isinstance(request, Acknowledgment):  # lines 19 to 21
        return _NOTICE, request
    raise UnknownSubject(request.subject, 0, "it is a service of the resolver, not of an Archive")
