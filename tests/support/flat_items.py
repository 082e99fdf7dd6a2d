"""Items and drafts from one flat list of values: tests need not say which belong to the description or custody."""

from __future__ import annotations

import dataclasses
from typing import Any, Final, TypeVar

from ibi.items.model.item import Custody, Description, Draft, HasDescription, InCustody, Item

_DESCRIBED: Final = frozenset(field.name for field in dataclasses.fields(Description))
_HELD: Final = frozenset(field.name for field in dataclasses.fields(Custody))

Value = TypeVar("Value")


def new_item(**values: Any) -> Item:
    described, held = _taken(values, _DESCRIBED), _taken(values, _HELD)
    return Item(description=Description(**described), custody=Custody(**held), **values)


def new_draft(**values: Any) -> Draft:
    described = _taken(values, _DESCRIBED)
    return Draft(description=Description(**described), **values)


def replace(of: Value, /, **values: Any) -> Value:
    """Return `of` with these values, as `dataclasses.replace` does; members of its description and custody are named
    directly."""
    if isinstance(of, HasDescription) and (described := _taken(values, _DESCRIBED)):
        values["description"] = dataclasses.replace(of.description, **described)
    if isinstance(of, InCustody) and (held := _taken(values, _HELD)):
        values["custody"] = dataclasses.replace(of.custody, **held)
    return dataclasses.replace(of, **values)  # type: ignore[type-var]


def _taken(values: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """Remove the values with these names, and return them."""
    return {name: values.pop(name) for name in [*values] if name in names}
