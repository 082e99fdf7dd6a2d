"""`GET /api/openapi.json`: the API described for programs.

`python -m tools.openapi` writes the file `openapi.json` beside this module, a valid OpenAPI document of a server that
does everything. Tests compare it with the structs, the routes, the answers and the bounds of the code. The served
document differs from the file in four ways:

- A path with `x-part` is served by servers that have this part only: `archive` (items and drafts are kept), `register`
  (Archives register with the resolver) or `minting` (labels are minted). The mark itself is left out. A schema is
  served if something that is served refers to it.
- Responses, parameters, request bodies and headers that several operations share are written once, under `components`.
  They are served where they are referred to, so that a reader finds an operation in one place.
- The version is that of the package.
- The summary of a server without an Archive does not speak of items.
"""

from __future__ import annotations

from functools import cache, cached_property
from importlib.resources import files
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ibi import __version__

_JSON: Final = "application/json"
_PART: Final = "x-part"
SCHEMAS: Final = "#/components/schemas/"
_SUMMARY_WITHOUT_ARCHIVE: Final = "Mints Internet Based Identifiers."
_SUMMARY_OF_RESOLVER: Final = "Resolves Internet Based Identifiers."


class OpenApiPage:
    """The page with the description of one server, made at the first request: most servers never get one."""

    def __init__(self, *, archive: bool, register: bool = False, minting: bool = True) -> None:
        self._archive, self._register, self._minting = archive, register, minting

    async def get(self, _: Request) -> Response:
        return Response(self._body, media_type=_JSON)

    @cached_property
    def _body(self) -> bytes:
        return msgspec.json.encode(document(archive=self._archive, register=self._register, minting=self._minting))


def document(*, archive: bool = False, register: bool = False, minting: bool = True) -> dict[str, Any]:
    """Return the description of a server: with an Archive, of items too; with a `register`, of registered Archives;
    with `minting`, of labels."""
    source = _source()
    has = {"archive": archive, "register": register, "minting": minting}
    parts = {None, *(part for part, there in has.items() if there)}
    info, components = {**source["info"], "version": __version__}, source["components"]
    if not archive:
        info["summary"] = _SUMMARY_WITHOUT_ARCHIVE if minting else _SUMMARY_OF_RESOLVER
    paths = _inline(_select(source["paths"], parts), components)
    return {
        "openapi": source["openapi"],
        "info": info,
        "paths": paths,
        "components": {
            "schemas": _schemas_of(paths, components["schemas"]),
            "securitySchemes": components["securitySchemes"],
        },
    }


def references(node: Any) -> set[str]:
    """Return the names of the schemas to which something in `node` refers."""
    if isinstance(node, list):
        return {name for each in node for name in references(each)}
    if not isinstance(node, dict):
        return set()
    reference = node.get("$ref", "")
    own = {reference.removeprefix(SCHEMAS)} if reference.startswith(SCHEMAS) else set[str]()
    return own | references(list(node.values()))


@cache
def _source() -> dict[str, Any]:
    """Read the data file, once in a process."""
    found: dict[str, Any] = msgspec.json.decode((files("ibi.app") / "openapi.json").read_bytes())
    return found


def _select(paths: dict[str, Any], parts: set[str | None]) -> dict[str, Any]:
    """Return the paths that belong to one of the `parts`, without their mark."""
    return {
        path: {key: value for key, value in each.items() if key != _PART}
        for path, each in paths.items()
        if each.get(_PART) in parts
    }


def _schemas_of(paths: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the schemas to which the paths refer, and those to which these refer."""
    found, new = set[str](), references(paths)
    while new:
        found |= new
        new = references([schemas[name] for name in new]) - found
    return {name: schema for name, schema in schemas.items() if name in found}


def _inline(node: Any, components: dict[str, Any]) -> Any:
    """Return a copy of `node` with everything it refers to in its place, except schemas."""
    if isinstance(node, list):
        return [_inline(each, components) for each in node]
    if not isinstance(node, dict):
        return node
    reference = node.get("$ref", SCHEMAS)
    if reference.startswith(SCHEMAS):
        return {key: _inline(value, components) for key, value in node.items()}
    kind, name = reference.split("/")[-2:]
    return _inline(components[kind][name], components)
