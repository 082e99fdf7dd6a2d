"""The record of an Original that was given away (R §5.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import msgspec

from ibi.items.model.item_json import forms_document, read_forms, read_instant, read_label
from ibi.standard.document_errors import InvalidDocument, InvalidItem
from ibi.standard.errors import InvalidInput
from ibi.standard.instant import Instant
from ibi.standard.json_fields import Fields, decode_document
from ibi.standard.label import Label, RepositoryName
from ibi.standard.messages.identification import LabelForms

_SCHEMA: Final = 1


@dataclass(frozen=True, slots=True)
class Transfer:
    """The labels of the item, the service of the new holder of the Original, and the time."""

    labels: LabelForms
    to: Label
    when: Instant

    def __post_init__(self) -> None:
        if self.labels.rep is None:
            raise InvalidItem(str(self.labels), 0, "every item of an Archive has a repository name", field="labels")

    @property
    def rep(self) -> RepositoryName:
        """The name under which the item was stored."""
        rep = self.labels.rep
        assert rep is not None  # no transfer is created without it
        return rep


class ToldChain(NamedTuple):
    """The chain of an item as a resolver stores it (`ibi.items.rules.provenance`)."""

    labels: tuple[Label, ...]
    """The labels by which it is found, including the repository name."""
    texts: tuple[str, ...]
    services: tuple[Label, ...]
    """The Archives in it."""


def encode_transfer(transfer: Transfer) -> bytes:
    document: dict[str, Any] = {
        "schema": _SCHEMA,
        "labels": forms_document(transfer.labels),
        "to": transfer.to.spelling,
        "when": str(transfer.when),
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def decode_transfer(body: bytes) -> Transfer:
    """Return the transfer in this record; raise `InvalidDocument` that names the wrong field."""
    fields = Fields(decode_document(body), "transferred.json")
    fields.check_schema(_SCHEMA)
    labels, to = fields.required("labels", read_forms), fields.required("to", read_label)
    when = fields.required("when", read_instant)
    fields.finish()
    try:
        return Transfer(labels, to, when)
    except InvalidInput as error:
        raise InvalidDocument("transferred.json", 0, "{cause}", cause=str(error)) from error
