"""Items and drafts from one flat list of values: tests need not say which of them belong to the description."""

from __future__ import annotations

import dataclasses
from typing import Any, Final, TypeVar

from ibi.model.item import Described, Description, Draft, Item

_DESCRIBED: Final = frozenset(field.name for field in dataclasses.fields(Description))

Value = TypeVar("Value")


def new_item(**values: Any) -> Item:
    return Item(description=Description(**_described(values)), **_others(values))


def new_draft(**values: Any) -> Draft:
    return Draft(description=Description(**_described(values)), **_others(values))


def replace(of: Value, /, **values: Any) -> Value:
    """Return `of` with these values, as `dataclasses.replace` does; members of its description are named directly."""
    if not isinstance(of, Described):
        return dataclasses.replace(of, **values)  # type: ignore[type-var]
    description = dataclasses.replace(of.description, **_described(values))
    return dataclasses.replace(of, description=description, **_others(values))  # type: ignore[type-var]


def _described(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in _DESCRIBED}


def _others(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in _DESCRIBED}
