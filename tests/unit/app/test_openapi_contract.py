"""The operations of the API stay as programs know them, and the description is made of the structs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from ibi.app.openapi import document
from tools.openapi import OPERATIONS, WRITTEN, described, text_of

PUBLISHED: Final = json.loads(Path(__file__).with_name("openapi_published.json").read_text("utf-8"))
"""The description as it was before structs made it, without prose."""

NOW: Final = document(archive=True, register=True)

PUBLISHED_OPERATIONS: Final = [(path, method) for path, item in PUBLISHED["paths"].items() for method in item]

PROSE: Final = {"description", "summary"}


def test_the_file_is_what_the_structs_and_the_operations_make() -> None:
    assert json.loads(WRITTEN.read_text("utf-8")) == described(), "run `make openapi`"


def test_the_operations_are_written_as_the_tool_writes_json() -> None:
    text = OPERATIONS.read_text("utf-8")

    assert text_of(json.loads(text)) == text


def test_every_published_path_belongs_to_the_same_part() -> None:
    parts = {path: item.get("x-part") for path, item in described()["paths"].items()}

    assert PUBLISHED["parts"].items() <= parts.items()


def test_every_published_schema_has_its_name() -> None:
    assert PUBLISHED["schemas"].keys() <= NOW["components"]["schemas"].keys()


@pytest.mark.parametrize(("path", "method"), PUBLISHED_OPERATIONS)
def test_a_published_operation_stays(path: str, method: str) -> None:
    before = whole(PUBLISHED["paths"][path][method], PUBLISHED["schemas"])
    after = whole(NOW["paths"][path][method], NOW["components"]["schemas"])

    members = ("operationId", "security", "parameters", "requestBody")
    assert {name: after.get(name) for name in members} == {name: before.get(name) for name in members}
    check_answers_kept(before["responses"], after["responses"], path)


def check_answers_kept(before: Any, after: Any, place: str) -> None:
    """An answer may have gained members, and lost none. So that it may, no schema of an answer forbids others."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        assert after == before, place
        return
    if isinstance(before.get("properties"), dict):
        assert set(before.get("required", ())) <= set(after.get("required", ())), place
        check_members_kept(before, after, {"properties", "required", "additionalProperties"}, place)
        before, after = before["properties"], after["properties"]
        assert before.keys() <= after.keys(), place
        after = {name: after[name] for name in before}
    check_members_kept(before, after, set(), place)


def check_members_kept(before: dict[str, Any], after: dict[str, Any], but: set[str], place: str) -> None:
    assert after.keys() - but == before.keys() - but, place
    for name in before.keys() - but:
        check_answers_kept(before[name], after[name], f"{place}/{name}")


def whole(node: Any, schemas: dict[str, Any]) -> Any:
    """Return an operation in one way of writing it: without prose, with every schema in its place."""
    if isinstance(node, list):
        return [whole(each, schemas) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        node = {**schemas[node["$ref"].rpartition("/")[2]], **{k: v for k, v in node.items() if k != "$ref"}}
    made = {
        name: {each: whole(value[each], schemas) for each in value} if name == "properties" else whole(value, schemas)
        for name, value in node.items()
        if name not in PROSE or not isinstance(value, str)
    }
    return one_way(made)


def one_way(made: dict[str, Any]) -> dict[str, Any]:
    """Return a schema or an operation without what means nothing, and with lists in one order where it means
    nothing."""
    if "const" in made:
        made["enum"] = [made.pop("const")]
    made = without_null_choice(made)
    made = without_all_of(made)
    if "enum" in made:
        made.pop("type", None)
        made["enum"] = sorted(made["enum"], key=str)
    for name in ("type", "required"):
        if isinstance(made.get(name), list):
            made[name] = sorted(made[name])
    if "parameters" in made:
        made["parameters"] = sorted(made["parameters"], key=lambda each: (each["in"], each["name"]))
    nothing: dict[str, tuple[Any, ...]] = {"required": ([], False), "security": ([], [{}])}
    return {name: value for name, value in made.items() if value not in nothing.get(name, ())}


def without_null_choice(made: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of something or null with the null among its types, however it was written."""
    for word in ("oneOf", "anyOf"):
        choices = made.get(word, [])
        if len(choices) == 2 and {"type": "null"} in choices:
            (other,) = [each for each in choices if each != {"type": "null"}]
            rest = {name: each for name, each in made.items() if name != word}
            if "enum" in other:
                return {**rest, **other, "enum": [*other["enum"], None]}
            return {**rest, **other, "type": [other["type"], "null"]}
    return made


def without_all_of(made: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that joins objects as one object."""
    if "allOf" not in made:
        return made
    joined: dict[str, Any] = {"type": "object", "properties": {}, "required": []}
    for each in made["allOf"]:
        joined["properties"] |= each.get("properties", {})
        joined["required"] = sorted({*joined["required"], *each.get("required", ())})
    return {**{name: each for name, each in made.items() if name != "allOf"}, **joined}
