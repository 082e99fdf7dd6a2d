"""What the parts of the API's description are written with."""

from __future__ import annotations

from typing import Any, Final

from ibi.web.http.errors import PROBLEM

_JSON: Final = "application/json"

TEXT: Final = {"type": "string"}
TEXT_OR_NULL: Final = {"type": ["string", "null"]}
YES_NO: Final = {"type": "boolean"}


def reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def record(properties: dict[str, Any], *, optional: frozenset[str] = frozenset()) -> dict[str, Any]:
    """An object that has these members, all of them but the `optional` ones."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
    }


def json_answer(description: str, name: str) -> dict[str, Any]:
    return {"description": description, "content": {_JSON: {"schema": reference(name)}}}


def header(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "required": True, "schema": schema}


def refusal(description: str, **headers: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": description, "content": {PROBLEM: {"schema": reference("Problem")}}}
    return (
        {**answer, "headers": {name.replace("_", "-"): field for name, field in headers.items()}} if headers else answer
    )
