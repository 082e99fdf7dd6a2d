"""Notifications, written for the field's own library to judge, and read from what it writes."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from coarnotify.factory import COARNotifyFactory
from coarnotify.test.fixtures.accept import AcceptFixtureFactory
from coarnotify.test.fixtures.announce_endorsement import AnnounceEndorsementFixtureFactory
from coarnotify.test.fixtures.announce_relationship import AnnounceRelationshipFixtureFactory
from coarnotify.test.fixtures.announce_review import AnnounceReviewFixtureFactory
from coarnotify.test.fixtures.reject import RejectFixtureFactory
from coarnotify.test.fixtures.undo_offer import UndoOfferFixtureFactory

from ibi.claims.rules import (
    RELATIONS,
    InvalidNotification,
    NotificationKind,
    Party,
    Relationship,
    Sender,
    announcement_document,
    offer_document,
    read_notification,
    reply_document,
)
from ibi.items.model.related_link import ClaimRelation

SENDER = Sender("https://a.example", "https://a.example/inbox", "Biblioteca A")
TARGET = Party("https://b.example", "https://b.example/inbox")
OFFER, REPLY = "urn:uuid:0370c0fb-bb78-4a9b-87f5-bed307a509dd", "urn:uuid:668f26e0-2c8d-4117-a0d2-ee713523bcb1"
SUBJECT, OBJECT = "http://urlib.net/a.br/arq/2026/11.16.10.00", "http://urlib.net/b.br/arq/2009/07.21.13.23"
EDITION = Relationship(SUBJECT, RELATIONS[ClaimRelation.EDITION_OF], OBJECT, "https://b.example/col/x/metadata")


def offer(**options: Any) -> dict[str, Any]:
    return offer_document(SENDER, TARGET, OFFER, EDITION, **options)


def nested() -> dict[str, Any]:
    return {name: value for name, value in offer().items() if name != "@context"}


def body(document: object) -> bytes:
    return json.dumps(document).encode()


def test_an_announcement_is_what_the_field_calls_one() -> None:
    judged = COARNotifyFactory.get_by_object(offer(announces=True))
    assert type(judged).__name__ == "AnnounceRelationship"
    assert judged.validate()


@pytest.mark.parametrize(("activity", "kind"), [("Accept", "Accept"), ("Reject", "Reject"), ("Undo", "UndoOffer")])
def test_replies_are_what_the_field_calls_them(activity: str, kind: str) -> None:
    judged = COARNotifyFactory.get_by_object(reply_document(SENDER, TARGET, REPLY, activity, nested(), "Porque sim"))
    assert type(judged).__name__ == kind
    assert judged.validate()


@pytest.mark.parametrize("relation", [ClaimRelation.REVIEW, ClaimRelation.ENDORSEMENT])
def test_announcements_of_reviews_are_what_the_field_calls_them(relation: ClaimRelation) -> None:
    document = announcement_document(SENDER, TARGET, REPLY, relation, "https://r.example/1", OBJECT)
    judged = COARNotifyFactory.get_by_object(deepcopy(document))
    assert type(judged).__name__ == f"Announce{relation.value.capitalize()}"
    assert judged.validate()
    assert read_notification(body(document)).relation is relation


def test_an_offer_is_read_as_it_was_written() -> None:
    found = read_notification(body(offer()))
    assert (found.id, found.kind, found.name) == (OFFER, NotificationKind.OFFER, "Biblioteca A")
    assert (found.origin, found.target) == (Party(SENDER.url, SENDER.inbox), TARGET)
    assert (found.subject, found.relation, found.objects[0]) == (SUBJECT, ClaimRelation.EDITION_OF, OBJECT)


@pytest.mark.parametrize(
    ("fixture", "kind", "subject", "about"),
    [
        (
            AnnounceReviewFixtureFactory,
            NotificationKind.REVIEW,
            "https://review-service.com/review/geo/202103/0021",
            "https://research-organisation.org/repository/preprint/201203/421/",
        ),
        (
            AnnounceEndorsementFixtureFactory,
            NotificationKind.ENDORSEMENT,
            "https://overlay-journal.com/articles/00001/",
            "https://research-organisation.org/repository/preprint/201203/421/",
        ),
        (
            AnnounceRelationshipFixtureFactory,
            NotificationKind.ANNOUNCE,
            "https://research-organisation.org/repository/item/201203/421/",
            "https://another-research-organisation.org/repository/datasets/item/201203421/",
        ),
    ],
)
def test_announcements_of_the_field_are_read(fixture: Any, kind: NotificationKind, subject: str, about: str) -> None:
    found = read_notification(body(fixture.source()))
    assert (found.kind, found.subject, found.objects[0]) == (kind, subject, about)


@pytest.mark.parametrize("fixture", [AcceptFixtureFactory, RejectFixtureFactory, UndoOfferFixtureFactory])
def test_replies_of_the_field_are_read(fixture: Any) -> None:
    found = read_notification(body(fixture.source()))
    assert found.in_reply_to == "urn:uuid:0370c0fb-bb78-4a9b-87f5-bed307a509dd"
    assert found.subject is None


def test_a_relation_that_is_not_known_is_something_related() -> None:
    document = offer()
    document["object"]["as:relationship"] = "http://purl.org/vocab/frbr/core#supplement"
    found = read_notification(body(document))
    assert (found.relation, found.iri) == (ClaimRelation.RELATED, "http://purl.org/vocab/frbr/core#supplement")


def changed(path: str, value: object) -> bytes:
    document = deepcopy(offer())
    *places, last = path.split("/")
    inside = document
    for place in places:
        inside = inside[place]
    inside[last] = value
    return body(document)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("@context", "https://www.w3.org/ns/activitystreams"),
        ("@context", {"Offer": "https://evil.example/"}),
        ("type", ["Create", "coar-notify:RelationshipAction"]),
        ("type", "Offer"),
        ("type", [1]),
        ("type", ["Offer"] * 1000),
        ("id", "no uri"),
        ("id", "urn:" + "x" * 3000),
        ("id", None),
        ("id", 'urn:x"><script>'),
        ("origin", "https://a.example"),
        ("origin/inbox", "javascript:alert(1)"),
        ("origin/inbox", "http://user@a.example/inbox"),
        ("target/id", "file:///etc/passwd"),
        ("object", OBJECT),
        ("object/type", "Note"),
        ("object/as:subject", "urn:uuid:1"),
        ("object/as:relationship", {"id": "x"}),
        ("object/as:object", ""),
        ("context/id", "http://a b"),
    ],
)
def test_what_is_not_a_notification_is_refused_by_name(path: str, value: object) -> None:
    with pytest.raises(InvalidNotification) as refused:
        read_notification(changed(path, value))
    assert len(str(refused.value)) < 500


@pytest.mark.parametrize(
    "text", [b"", b"[]", b"{", b"\xff", b"null", b'{"a":' * 5000, b'{"id":1,"id":2}', b"[" * 60_000]
)
def test_what_is_no_object_is_refused(text: bytes) -> None:
    with pytest.raises(InvalidNotification):
        read_notification(text)


def test_a_reply_that_names_two_offers_is_refused() -> None:
    document = reply_document(SENDER, TARGET, REPLY, "Accept", nested())
    with pytest.raises(InvalidNotification):
        read_notification(body({**document, "inReplyTo": "urn:uuid:another"}))


def test_names_of_strangers_are_one_line_of_bounded_length() -> None:
    document = offer() | {"actor": {"id": "https://a.example", "type": "Service", "name": "x\x1b[2J\n" * 500}}
    name = read_notification(body(document)).name
    assert name is not None
    assert name.isprintable()
    assert len(name) <= 200
