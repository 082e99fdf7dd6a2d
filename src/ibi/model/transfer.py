"""What is left of an Original that was given to another Archive: where it went (R §5.2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from ibi.errors import InvalidInput
from ibi.instant import Instant
from ibi.label import Label, RepositoryName
from ibi.messages.label_forms import LabelForms
from ibi.model.errors import InvalidDocument, InvalidItem
from ibi.model.item_json import forms_document, read_forms, read_instant, read_label
from ibi.model.json_fields import Fields, decode_document

_SCHEMA: Final = 1


@dataclass(frozen=True, slots=True)
class Transfer:
    """The labels of the item, the service of the Archive that has the Original from then on, and when."""

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
        assert rep is not None  # no transfer is built without it
        return rep


def encode_transfer(transfer: Transfer) -> bytes:
    document: dict[str, Any] = {
        "schema": _SCHEMA,
        "labels": forms_document(transfer.labels),
        "to": transfer.to.spelling,
        "when": str(transfer.when),
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"


def decode_transfer(body: bytes) -> Transfer:
    """The transfer of which this is the record; `InvalidDocument` names the field that is wrong."""
    fields = Fields(decode_document(body), "transferred.json")
    fields.check_schema(_SCHEMA)
    labels, to = fields.required("labels", read_forms), fields.required("to", read_label)
    when = fields.required("when", read_instant)
    fields.finish()
    try:
        return Transfer(labels, to, when)
    except InvalidInput as error:
        raise InvalidDocument("transferred.json", 0, "{cause}", cause=str(error)) from error
