"""Notifications of the COAR Notify protocol 1.0.1: W3C Linked Data Notifications in Activity Streams 2.0.

Strangers send these documents. So every text has a maximum length, and every address is an absolute URL of HTTP. A
document that this module does not understand is refused by name. The documents are plain JSON-LD with the two contexts
of the protocol; terms that a sender renames by its own context are not understood.

An Archive offers a relationship (`Offer`, `coar-notify:RelationshipAction`). The protocol answers it by `Accept` or
`Reject`, and revokes it by `Undo`. The pattern Announce Relationship carries the same statement to receivers that do
not answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from ibi.items.model.related_link import LONGEST_NAME, ClaimRelation
from ibi.standard.document_errors import InvalidDocument
from ibi.standard.errors import InvalidInput
from ibi.standard.json_fields import decode_document
from ibi.standard.messages import values as wire
from ibi.standard.safe_text import printable, shorten

CONTEXT: Final = ("https://www.w3.org/ns/activitystreams", "https://coar-notify.net")
INBOX: Final = "http://www.w3.org/ns/ldp#inbox"
"""The link relation by which the page of an item announces its inbox."""
LONGEST_URL: Final = 2000
LONGEST_SUMMARY: Final = 2000
_MOST_TYPES: Final = 10

_FRBR: Final = "http://purl.org/vocab/frbr/core#"
RELATIONS: Final[Mapping[ClaimRelation, str]] = {
    ClaimRelation.EDITION_OF: f"{_FRBR}revisionOf",
    ClaimRelation.TRANSLATION_OF: f"{_FRBR}translationOf",
    ClaimRelation.DESCRIBES: "http://www.iana.org/assignments/relation/describes",
}
"""The IRI that this Archive writes for each relation."""
_MEANINGS: Final[Mapping[str, ClaimRelation]] = {
    **{iri: relation for relation, iri in RELATIONS.items()},
    "http://purl.org/dc/terms/isVersionOf": ClaimRelation.EDITION_OF,
    "http://purl.org/dc/terms/replaces": ClaimRelation.EDITION_OF,
    "http://www.iana.org/assignments/relation/predecessor-version": ClaimRelation.EDITION_OF,
    "https://schema.org/translationOfWork": ClaimRelation.TRANSLATION_OF,
    "http://schema.org/translationOfWork": ClaimRelation.TRANSLATION_OF,
}
"""The IRIs that this Archive reads, with their relations."""


class InvalidNotification(InvalidInput):
    """{quoted} is not a notification that this inbox understands: {reason}."""

    code = "invalid-notification"
    request_field = "body"


class NotificationKind(Enum):
    OFFER = ("Offer", "RelationshipAction")
    ANNOUNCE = ("Announce", "RelationshipAction")
    REVIEW = ("Announce", "ReviewAction")
    ENDORSEMENT = ("Announce", "EndorsementAction")
    ACCEPT = ("Accept", None)
    REJECT = ("Reject", None)
    UNDO = ("Undo", None)
    UNPROCESSABLE = ("Flag", "UnprocessableNotification")

    @property
    def is_reply(self) -> bool:
        """True if it is about another notification, which it names."""
        return self in {
            NotificationKind.ACCEPT,
            NotificationKind.REJECT,
            NotificationKind.UNDO,
            NotificationKind.UNPROCESSABLE,
        }


@dataclass(frozen=True, slots=True)
class Party:
    """A system that sends or receives notifications."""

    id: str
    inbox: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification:
    """A parsed notification."""

    id: str
    kind: NotificationKind
    origin: Party
    target: Party
    name: str | None = None
    """The name that the actor gives itself."""
    subject: str | None = None
    """The address of the claimant: an item or a review. None in a reply."""
    relation: ClaimRelation | None = None
    iri: str | None = None
    objects: tuple[str, ...] = ()
    """Addresses of the item that the claim is about."""
    in_reply_to: str | None = None
    summary: str | None = None


def read_notification(body: bytes) -> Notification:
    """Return the notification in a body. Raise `InvalidNotification`, which names the member at fault."""
    try:
        document = decode_document(body)
    except InvalidDocument as error:
        raise InvalidNotification(error.text, error.offset, error.reason, **error.details) from error
    if not isinstance(document, dict):
        raise InvalidNotification("", 0, "it is not a JSON object")
    _check_context(document.get("@context"))
    kind = _kind(_types(document))
    actor = document.get("actor")
    common: dict[str, Any] = {
        "id": _uri(document, "id"),
        "kind": kind,
        "origin": _party(document, "origin"),
        "target": _party(document, "target"),
        "name": _text(actor, "name", LONGEST_NAME) if isinstance(actor, dict) else None,
        "summary": _text(document, "summary", LONGEST_SUMMARY),
    }
    if kind.is_reply:
        return Notification(**common, in_reply_to=_read_reply_target(document))
    read = _relationship if kind in {NotificationKind.OFFER, NotificationKind.ANNOUNCE} else _announcement
    return Notification(**common, **read(document, kind))


def _check_context(context: object) -> None:
    """Raise `InvalidNotification` unless both contexts are named. The deprecated namespace of the protocol counts too:
    it has the same vocabulary."""
    named = {context} if isinstance(context, str) else set()
    if isinstance(context, list):
        named = {each.rstrip("/") for each in context if isinstance(each, str)}
    if CONTEXT[0] not in named or named.isdisjoint({CONTEXT[1], "https://purl.org/coar/notify"}):
        raise InvalidNotification("@context", 0, "it names {wanted}", wanted=" and ".join(CONTEXT))


def _types(document: Mapping[str, Any]) -> frozenset[str]:
    types = document.get("type")
    listed = [types] if isinstance(types, str) else types
    if not isinstance(listed, list) or len(listed) > _MOST_TYPES or not all(isinstance(each, str) for each in listed):
        raise InvalidNotification("type", 0, "it is a text, or a list of few")
    return frozenset(listed)


def _kind(types: frozenset[str]) -> NotificationKind:
    actions = {name.rpartition(":")[2].rpartition("/")[2] for name in types}
    for kind in NotificationKind:
        activity, action = kind.value
        if activity in types and (action is None or action in actions):
            return kind
    shown = ", ".join(sorted(printable(shorten(name, 60)) for name in types))
    raise InvalidNotification(shown, 0, "its type is none of a relationship, a review, an endorsement and replies")


def _party(document: Mapping[str, Any], name: str) -> Party:
    party = _object(document, name)
    return Party(_url(party, "id", name), _url(party, "inbox", name))


def _relationship(document: Mapping[str, Any], _: NotificationKind) -> dict[str, Any]:
    said = _object(document, "object")
    if "Relationship" not in _types(said):
        raise InvalidNotification("object.type", 0, "it is a Relationship")
    iri = _uri(said, "as:relationship", "object")
    relation = _MEANINGS.get(iri, ClaimRelation.RELATED)
    subject, claimed = _url(said, "as:subject", "object"), _url(said, "as:object", "object")
    return {
        "subject": subject,
        "relation": relation,
        "iri": iri,
        "objects": tuple(dict.fromkeys((claimed, *_context_urls(document, subject)))),
    }


def _announcement(document: Mapping[str, Any], kind: NotificationKind) -> dict[str, Any]:
    """Return the members of a review or an endorsement. The object is the review, the context the reviewed item."""
    said = _object(document, "object")
    objects = _context_urls(document, None)
    if not objects:
        raise InvalidNotification("context", 0, "it names the item that this is about")
    review = kind is NotificationKind.REVIEW
    return {
        "subject": _url(said, "id", "object"),
        "relation": ClaimRelation.REVIEW if review else ClaimRelation.ENDORSEMENT,
        "objects": objects,
    }


def _context_urls(document: Mapping[str, Any], subject: str | None) -> tuple[str, ...]:
    """Return the addresses of the context. In a relationship the context may be either end, so a context with the
    address of the subject yields none."""
    context = document.get("context")
    if isinstance(context, str):
        context = {"id": context}
    if not isinstance(context, dict):
        return ()
    found = tuple(_url(context, name, "context") for name in ("id", "ietf:cite-as") if name in context)
    return () if subject in found else found


def _read_reply_target(document: Mapping[str, Any]) -> str:
    """Return the answered notification: `inReplyTo`, which the object repeats."""
    named = _uri(document, "inReplyTo") if "inReplyTo" in document else None
    said = document.get("object")
    repeated = said if isinstance(said, str) else _uri(said, "id", "object") if isinstance(said, dict) else None
    replied = named or repeated
    if replied is None or (repeated is not None and repeated != replied):
        raise InvalidNotification("inReplyTo", 0, "it names the notification that is answered, as the object does")
    return replied


def _object(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = document.get(name)
    if not isinstance(value, dict):
        raise InvalidNotification(name, 0, "it is an object")
    return value


def _uri(document: Mapping[str, Any], name: str, place: str = "") -> str:
    """Return an absolute URI of any scheme."""
    value = document.get(name)
    where = f"{place}.{name}" if place else name
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_URL:
        raise InvalidNotification(where, 0, "it is a URI of at most {most} characters", most=LONGEST_URL)
    scheme, colon, rest = value.partition(":")
    is_plain = value.isascii() and value.isprintable() and not set(value) & set(' "<>\\^`{|}')
    if not (
        is_plain and colon and rest and scheme[:1].isalpha() and scheme.replace("+", "").replace("-", "").isalnum()
    ):
        raise InvalidNotification(where, 0, "it is not an absolute URI")
    return value


def _url(document: Mapping[str, Any], name: str, place: str) -> str:
    """Return an absolute URL of HTTP or HTTPS."""
    value = _uri(document, name, place)
    try:
        return wire.url(value)
    except InvalidInput as error:
        raise InvalidNotification(f"{place}.{name}", 0, error.reason, **error.details) from error


def _text(document: Mapping[str, Any], name: str, longest: int) -> str | None:
    """Return a text for people, on one line; None if there is none."""
    value = document.get(name)
    if not isinstance(value, str):
        return None
    return shorten(printable(value).strip(), longest) or None


@dataclass(frozen=True, slots=True)
class Sender:
    """This Archive, as it names itself in notifications."""

    url: str
    inbox: str
    name: str

    @property
    def origin(self) -> dict[str, Any]:
        return service_document(Party(self.url, self.inbox))

    @property
    def actor(self) -> dict[str, Any]:
        return {"id": self.url, "name": self.name, "type": "Service"}


@dataclass(frozen=True, slots=True)
class Relationship:
    """A statement of one item about another, by persistent URLs. `page` is the page of the other item, if known."""

    subject: str
    iri: str
    object: str
    page: str | None = None

    @property
    def document(self) -> dict[str, Any]:
        """The relationship as JSON-LD. Its URI is that of the statement within the record of the subject."""
        return {
            "id": f"{self.subject}#{self.iri.replace('#', '/').rpartition('/')[2]}",
            "type": "Relationship",
            "as:subject": self.subject,
            "as:relationship": self.iri,
            "as:object": self.object,
        }


def service_document(party: Party) -> dict[str, Any]:
    return {"id": party.id, "inbox": party.inbox, "type": "Service"}


def offer_document(
    sender: Sender, target: Party, offer: str, relationship: Relationship, *, announces: bool = False
) -> dict[str, Any]:
    """Return the offer of a relationship, or its announcement, which expects no answer."""
    context = {"id": relationship.page or relationship.object, "ietf:cite-as": relationship.object}
    return {
        **_activity(sender, target, offer, ["Announce" if announces else "Offer", "coar-notify:RelationshipAction"]),
        "object": relationship.document,
        "context": {**context, "type": ["Page", "sorg:AboutPage"]},
    }


def announcement_document(
    sender: Sender, target: Party, identifier: str, relation: ClaimRelation, url: str, about: str
) -> dict[str, Any]:
    """Return the announcement of a review or an endorsement at `url`."""
    action, kind = ("Review", "sorg:Review") if relation is ClaimRelation.REVIEW else ("Endorsement", "sorg:WebPage")
    return {
        **_activity(sender, target, identifier, ["Announce", f"coar-notify:{action}Action"]),
        "object": {"id": url, "ietf:cite-as": url, "type": ["Page", kind]},
        "context": {"id": about},
    }


def reply_document(
    sender: Sender, target: Party, reply: str, activity: str, offer: Mapping[str, Any], summary: str | None = None
) -> dict[str, Any]:
    """Return the `Accept`, `Reject` or `Undo` of an offer. It contains the offer."""
    document = {**_activity(sender, target, reply, activity), "inReplyTo": offer["id"], "object": dict(offer)}
    return document if summary is None else {**document, "summary": summary}


def _activity(sender: Sender, target: Party, activity: str, types: str | Sequence[str]) -> dict[str, Any]:
    return {
        "@context": list(CONTEXT),
        "id": activity,
        "type": types if isinstance(types, str) else list(types),
        "actor": sender.actor,
        "origin": sender.origin,
        "target": service_document(target),
    }
