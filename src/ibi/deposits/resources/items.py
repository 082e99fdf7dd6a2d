"""Requests that change an item."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from ibi.standard.resource import Request


class OwnerChange(Request, frozen=True):
    owner: Annotated[
        str | None,
        Meta(
            description="The name of a person or of tokens, or `person:` or `service:` and the name where both have it;"
            " null is the Archive."
        ),
    ]


class NewRelation(Request, frozen=True):
    next_edition: Annotated[
        str | UnsetType, Meta(description="A label: the item that is the edition after this one.")
    ] = UNSET
    translation: Annotated[str | UnsetType, Meta(description="A label: the item that is the text in `language`.")] = (
        UNSET
    )
    language: str | UnsetType = UNSET
    metadata_item: Annotated[
        str | UnsetType, Meta(description="A label: the item that is the metadata of this one.")
    ] = UNSET
