"""Write `src/ibi/app/openapi.json`, the description of the API: `python -m tools.openapi`.

The schemas come from the structs in the `resources` of each capability. The operations, with their prose and examples,
come from `tools/openapi_operations.json`: one record for each, which names its schemas, and the answers that several
share.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from http import HTTPMethod
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, Final

import msgspec

import ibi
from ibi.app.openapi import SCHEMAS, references

OPERATIONS: Final = Path(__file__).with_name("openapi_operations.json")
WRITTEN: Final = Path(__file__).parents[1] / "src/ibi/app/openapi.json"

_PROBLEM: Final = {"application/problem+json": {"schema": {"$ref": f"{SCHEMAS}Problem"}}}
_SECURITY: Final[dict[str, list[dict[str, list[str]]]]] = {"required": [{"token": []}], "optional": [{}, {"token": []}]}
_SUFFIX: Final = "Resource"
"""Ends the name of a struct where another class has the plain name; the description leaves it out."""
_WIDTH: Final = 120


def described() -> dict[str, Any]:
    """Return the whole description, of a server that does everything."""
    source = json.loads(OPERATIONS.read_text("utf-8"))
    paths: dict[str, dict[str, Any]] = {}
    for operation in source["operations"]:
        method, _, path = operation["route"].partition(" ")
        place = paths.setdefault(path, {"x-part": operation["part"]} if "part" in operation else {})
        place[HTTPMethod(method).value.lower()] = _operation(operation, source["problems"])
    components = {
        "responses": {
            **{name: _problem(each) for name, each in source["problems"].items()},
            **{name: _answer(each) for name, each in source["answers"].items()},
        },
        **{kind: source[kind] for kind in ("parameters", "requestBodies", "headers")},
    }
    hand_written = source.get("schemas", {})
    schemas = {**hand_written, **struct_schemas(references([paths, components, hand_written]) - hand_written.keys())}
    return {
        "openapi": source["openapi"],
        "info": source["info"],
        "paths": paths,
        "components": {
            **components,
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": source["securitySchemes"],
        },
    }


# Operations


def _operation(operation: dict[str, Any], problems: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    made = {"operationId": operation["id"], "summary": operation["summary"]}
    if "description" in operation:
        made["description"] = operation["description"]
    if "token" in operation:
        made["security"] = _SECURITY[operation["token"]]
    if "parameters" in operation:
        made["parameters"] = [_shared("parameters", each) for each in operation["parameters"]]
    if "request" in operation:
        made["requestBody"] = _request(operation["request"])
    made["responses"] = {
        **{status: _answer(each) for status, each in operation.get("answers", {}).items()},
        **{status: _problem(each) for status, each in operation.get("problems", {}).items()},
        **{str(problems[name]["status"]): _shared("responses", name) for name in operation.get("shared_problems", ())},
    }
    return made


def _shared(kind: str, told: str | dict[str, Any]) -> dict[str, Any]:
    """Return a reference to what is shared under a name; what is not shared stays as it is."""
    return {"$ref": f"#/components/{kind}/{told}"} if isinstance(told, str) else told


def _request(told: str | dict[str, Any]) -> dict[str, Any]:
    if isinstance(told, str) or "content" in told:
        return _shared("requestBodies", told)
    return {"required": True, **_with_json(told)}


def _answer(told: str | dict[str, Any]) -> dict[str, Any]:
    return _with_json(_shared("responses", told))


def _with_json(told: dict[str, Any]) -> dict[str, Any]:
    """Return it with JSON of the `schema` that it names."""
    if "schema" not in told:
        return told
    content = {"application/json": {"schema": {"$ref": f"{SCHEMAS}{told['schema']}"}}}
    return {**{name: each for name, each in told.items() if name != "schema"}, "content": content}


def _problem(told: str | dict[str, Any]) -> dict[str, Any]:
    """Return an answer of problem details, of which only the description, and perhaps headers, are told."""
    members = {"description": told} if isinstance(told, str) else told
    return {**{name: each for name, each in members.items() if name != "status"}, "content": _PROBLEM}


# Schemas


def struct_schemas(names: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the schemas of the structs of these names, and of all to which they refer."""
    known = _structs()
    _, found = msgspec.json.schema_components([known[name] for name in sorted(names)], ref_template=SCHEMAS + "{name}")
    words = {name: schema for name, schema in found.items() if "properties" not in schema}
    return {name.removesuffix(_SUFFIX): _plain(schema, words) for name, schema in found.items() if name not in words}


def _resources(path: Iterable[str], prefix: str) -> Iterator[str]:
    """Yield the names of the modules with structs: `ibi.<capability>.resources`, or the modules in such a folder."""
    for each in walk_packages(path, prefix):
        if each.name.split(".")[2:3] == ["resources"] and not each.ispkg:
            yield each.name


def _structs() -> dict[str, type[msgspec.Struct]]:
    modules = [import_module(name) for name in _resources(ibi.__path__, "ibi.")]
    return {
        name.removesuffix(_SUFFIX): each
        for module in modules
        for name, each in vars(module).items()
        if isinstance(each, type) and issubclass(each, msgspec.Struct) and each.__module__ == module.__name__
    }


def _plain(schema: Any, words: Mapping[str, dict[str, Any]]) -> Any:
    """Return a schema as we write it: without titles and absent defaults, with enumerations in place, and with one
    `type` for a value that may be null."""
    if isinstance(schema, list):
        return [_plain(each, words) for each in schema]
    if not isinstance(schema, dict):
        return schema
    name = str(schema.get("$ref", "")).removeprefix(SCHEMAS)
    if name in words:
        schema = {**words[name], **{key: value for key, value in schema.items() if key != "$ref"}}
    made: dict[str, Any] = {
        key: _members(value, words) if key == "properties" else _plain(value, words) for key, value in schema.items()
    }
    made.pop("title", None)
    for name, each in made.get("properties", {}).items():
        if each.get("required") is True:
            del each["required"]
            made["required"] = [*made["required"], name]
    if "$ref" in made:
        made["$ref"] = made["$ref"].removesuffix(_SUFFIX)
    if "default" in made and made["default"] in (None, (), [], {}, ""):
        del made["default"]
    return _nullable(made)


def _members(properties: dict[str, Any], words: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    return {name: _plain(each, words) for name, each in properties.items()}


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    choices = schema.get("anyOf", [])
    if len(choices) != 2 or choices[1] != {"type": "null"}:
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    if "enum" in choices[0]:
        only = {key: value for key, value in choices[0].items() if key != "type"}
        return {**rest, **only, "enum": [*choices[0]["enum"], None]}
    if "type" in choices[0]:
        return {**rest, **choices[0], "type": [choices[0]["type"], "null"]}
    return schema


# Text


def text_of(node: Any) -> str:
    """Return JSON with one member to a line; what fits on one line stays there."""
    return "".join(_lines(node, 0, "")) + "\n"


def _lines(node: Any, depth: int, before: str) -> Iterator[str]:
    short = json.dumps(node, ensure_ascii=False)
    if not isinstance(node, (dict, list)) or not node or 2 * depth + len(before) + len(short) < _WIDTH:
        yield before + short
        return
    opening, closing = "{}" if isinstance(node, dict) else "[]"
    entries: Iterable[tuple[str, Any]] = (
        ((f"{json.dumps(name)}: ", each) for name, each in node.items())
        if isinstance(node, dict)
        else (("", each) for each in node)
    )
    yield before + opening
    comma = ""
    for start, each in entries:
        yield f"{comma}\n{'  ' * (depth + 1)}"
        yield from _lines(each, depth + 1, start)
        comma = ","
    yield f"\n{'  ' * depth}{closing}"


if __name__ == "__main__":
    WRITTEN.write_text(text_of(described()), "utf-8")
