"""Content for tests: names, changes, and the judgement of an independent validator."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from ibi.items.model.content import Bytes, Change, KeptObject, Source, Stream
from ibi.items.ports.archive_store import Content
from ibi.standard.instant import Instant

NAME = "sid.inpe.br/mtc-m18@80/2009/02.16.17.46"
OTHER = "sid.inpe.br/mtc-m18.8080/2009/02.16.17.46.05.5"


def change(message: str = "a change", second: int = 0) -> Change:
    return Change("Ana Ávila", message, Instant(1_794_700_800 + second, "5"), "mailto:ana@inpe.br")


def files(**contents: bytes) -> dict[str, Source]:
    """Files whose names are keywords: `doc__a` is `doc/a.txt`."""
    return {f"{name.replace('__', '/')}.txt": Bytes(content) for name, content in contents.items()}


def stream(content: bytes) -> Stream:
    return Stream(io.BytesIO(content).read)


def making(store: Content, kind: str) -> Callable[..., KeptObject]:
    """What makes a `create`, `update` or `purge` of a name, with files and a change."""
    makers: dict[str, Callable[..., KeptObject]] = {
        "create": store.create,
        "update": store.update,
        "purge": store.purge_to,
    }
    return makers[kind]


def content_of(store: Content, name: str, path: str, version: int | None = None) -> bytes:
    with store.open(name, path, version) as file:
        return file.read(0, file.size + 1)


def everything_in(store: Content, name: str) -> list[dict[str, bytes]]:
    """Every file of every version, read."""
    versions = store.read(name).versions
    return [{path: content_of(store, name, path, one.number) for path in one.files} for one in versions]


def prepare_ocfl_py() -> None:
    """Let ocfl-py be imported without two packages that exist as source only and that no validation uses: one for bags,
    one for the names of another layout. Whatever would be asked of them fails."""
    for name, members in (("bagit", ()), ("pairtree", ("id_encode", "id_decode"))):
        module = sys.modules.setdefault(name, ModuleType(name))
        for member in members:
            vars(module).setdefault(member, None)


def ocfl_py_says(place: Path) -> list[str]:
    """What ocfl-py finds wrong with an object, warnings too."""
    prepare_ocfl_py()
    from ocfl.validator import Validator

    validator = Validator(log_warnings=True)
    valid = validator.validate_object(str(place))
    messages = [str(message) for message in validator.log.messages]
    return messages if valid else [*messages, "invalid"]
