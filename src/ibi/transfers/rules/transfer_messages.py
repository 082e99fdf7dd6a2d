"""The signed messages between the two sides of a transfer: the offer, the acceptance and the progress.

The sender repeats an offer; each time it asks for the receiver's progress. The offer is signed, so that no other
Archive can end a transfer or redirect it. An acceptance states, signed by the receiver, that it holds a complete Copy.
The sender keeps it, and shows it to a receiver that does not remember.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, TypeVar

from ibi.items.model.item_json import forms_document, read_forms, read_label
from ibi.items.rules.provenance import LONGEST_LINK, MOST_LINKS
from ibi.standard.errors import InvalidInput
from ibi.standard.json_fields import Fields, boolean, integer, many, member, of_string, string
from ibi.standard.label import Label
from ibi.standard.messages.identification import LabelForms
from ibi.standard.origin import Origin, authority_of
from ibi.standard.signing import InvalidStatement, PublicKey, SigningKey, read_statement, sign_statement
from ibi.transfers.model import ReceiverStage

T = TypeVar("T")

OFFER: Final = "offer"
ACCEPTANCE: Final = "acceptance"
_LONGEST_URL: Final = 2000
_LONGEST_TOKEN: Final = 256
_LATEST: Final = 1 << 40
"""POSIX seconds, far in the future."""
_DIGEST: Final = re.compile("[0-9a-f]{128}")


@dataclass(frozen=True, slots=True)
class Offer:
    """A message from the sender to the receiver. A repeated offer asks for the receiver's progress."""

    labels: LabelForms
    number: int
    """Number of the release in the chain of the item."""
    giver: Label
    url: str
    """The address at which the sender answers for the item."""
    to: str
    """The receiver's address. The offer is not valid for other Archives."""
    manifest: str
    begun: int = 0
    """Start of this transfer. It distinguishes the transfer from an earlier one that was declined or withdrawn."""
    released: bool = False
    withdrawn: bool = False
    token: str | None = None
    """A token of the sender by which the receiver may read restricted files."""
    acceptance: str | None = None
    """The acceptance that the receiver signed when it held the Copy. A receiver restored from a backup may not
    remember."""


def sign_offer(offer: Offer, key: SigningKey) -> str:
    claims: dict[str, object] = {
        "labels": forms_document(offer.labels),
        "number": offer.number,
        "from": offer.giver.spelling,
        "url": offer.url,
        "to": offer.to,
        "manifest": offer.manifest,
        "begun": offer.begun,
        "released": offer.released,
        "withdrawn": offer.withdrawn,
    }
    if offer.acceptance is not None:
        claims["acceptance"] = offer.acceptance
    if offer.token is not None:
        claims["token"] = offer.token
    return sign_statement(OFFER, claims, key)


def read_offer(text: str) -> tuple[Offer, PublicKey]:
    """Return the offer and its signer. Raise `InvalidStatement`."""
    offer, signer = _read_said(text, OFFER, _read_offer)
    if offer.labels.rep is None:
        raise InvalidStatement(text, 0, "it names no item")
    _check_bounds(offer, text)
    return replace(offer, url=offer.url.rstrip("/")), signer


def _read_said(text: str, kind: str, read: Callable[[Fields], T]) -> tuple[T, PublicKey]:
    """Return the content of a statement of this kind, and its signer. Raise `InvalidStatement`."""
    statement = read_statement(text, kind)
    try:
        return read(Fields(statement.claims, kind)), statement.signer
    except InvalidInput as error:
        raise InvalidStatement(text, 0, "{cause}", cause=error.reason.format(**error.details)) from error


def _read_offer(fields: Fields) -> Offer:
    offer = Offer(
        fields.required("labels", read_forms),
        fields.required("number", integer),
        fields.required("from", read_label),
        fields.required("url", string),
        fields.required("to", string),
        fields.required("manifest", string),
        fields.required("begun", integer),
        fields.optional("released", boolean, False),
        fields.optional("withdrawn", boolean, False),
        fields.nullable("token", string),
        fields.nullable("acceptance", string),
    )
    _check_address(offer.url)
    return offer


def _check_address(url: str) -> None:
    """Raise `InvalidStatement` unless a server can be reached at the address. An offer needs no token, so any text may
    stand there."""
    if len(url) > _LONGEST_URL or not (url.isascii() and url.isprintable()) or set(url) & set(" ?#@"):
        raise InvalidStatement(url[:80], 0, "the sender has no address")
    Origin.of_url(url)
    if not authority_of(url):
        raise InvalidStatement(url[:80], 0, "the sender has no address")


def _check_bounds(offer: Offer, text: str) -> None:
    """Raise `InvalidStatement` if a member exceeds its bounds. The offer is stored until a librarian answers, so each
    member is bounded."""
    wrong = (
        ("number", not 1 <= offer.number <= MOST_LINKS),
        ("begun", not 0 <= offer.begun <= _LATEST),
        ("to", len(offer.to) > _LONGEST_URL),
        ("manifest", _DIGEST.fullmatch(offer.manifest) is None),
        ("token", len(offer.token or "") > _LONGEST_TOKEN),
        ("acceptance", len(offer.acceptance or "") > LONGEST_LINK),
    )
    for name, is_wrong in wrong:
        if is_wrong:
            raise InvalidStatement(text, 0, "{name}: it is out of bounds", name=name)


@dataclass(frozen=True, slots=True)
class TransferAcceptance:
    """The statement of a receiver that it holds a complete Copy and is ready to take the Original."""

    labels: LabelForms
    number: int
    giver_key: PublicKey
    to: Label
    manifest: str


def sign_acceptance(said: TransferAcceptance, key: SigningKey) -> str:
    claims = {
        "labels": forms_document(said.labels),
        "number": said.number,
        "from_key": str(said.giver_key),
        "to": said.to.spelling,
        "manifest": said.manifest,
    }
    return sign_statement(ACCEPTANCE, claims, key)


@lru_cache(maxsize=1024)
def read_acceptance(text: str) -> tuple[TransferAcceptance, PublicKey]:
    """Return the acceptance and its signer. Raise `InvalidStatement`."""
    return _read_said(text, ACCEPTANCE, _read_acceptance)


def _read_acceptance(fields: Fields) -> TransferAcceptance:
    return TransferAcceptance(
        fields.required("labels", read_forms),
        fields.required("number", integer),
        fields.required("from_key", of_string(PublicKey.parse)),
        fields.required("to", read_label),
        fields.required("manifest", string),
    )


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of a receiver to an offer."""

    stage: ReceiverStage
    acceptance: str | None = None
    """Present if the receiver holds a Copy."""
    chain: tuple[str, ...] = ()
    """The chain with the countersignature, if the receiver took the Original."""
    reason: str = ""


def reply_document(reply: Reply) -> dict[str, object]:
    """Return the answer as JSON."""
    return {
        "stage": reply.stage.value,
        **({} if reply.acceptance is None else {"acceptance": reply.acceptance}),
        **({} if not reply.chain else {"chain": list(reply.chain)}),
        **({} if not reply.reason else {"reason": reply.reason}),
    }


def read_reply(document: object) -> Reply:
    """Return the answer of another Archive. Raise `InvalidDocument` if it is malformed. Unknown members are ignored."""
    fields = Fields(document, "answer")
    return Reply(
        fields.required("stage", of_string(member(ReceiverStage))),
        fields.nullable("acceptance", string),
        fields.optional("chain", many(string), ()),
        fields.optional("reason", string, ""),
    )
