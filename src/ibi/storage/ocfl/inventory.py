"""The inventory of an OCFL 1.1 object (OCFL 1.1 §3.5): which files it has in which version, and where they lie.

What is read from a disk is never trusted: a value of `Inventory` keeps every rule of the specification that can be
judged from the inventory alone. The codes are those of the specification's table of validation codes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha512
from typing import TypeVar, cast

import msgspec

from ibi.errors import InvalidInstant
from ibi.instant import Instant
from ibi.model.content import Change, KeptObject, KeptVersion
from ibi.storage.ocfl.layout import Broken

NAME = "inventory.json"
SIDECAR = "inventory.json.sha512"
ID_SCHEME = "ibi:"
TYPE = "https://ocfl.io/1.1/spec/#inventory"
CONTENT = "content"

_DIGEST = re.compile(r"[0-9a-f]{128}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NOWHERE = frozenset({"", ".", ".."})
_VERSION = re.compile(r"v[1-9][0-9]{0,8}")
_SIDECAR = re.compile(rb"([0-9a-fA-F]{128})[ \t]+inventory\.json\n?")
_KEYS = {"id", "type", "digestAlgorithm", "head", "contentDirectory", "manifest", "versions", "fixity"}
_VERSION_KEYS = {"created", "state", "message", "user"}


def version_name(number: int) -> str:
    return f"v{number}"


def sidecar_of(inventory: bytes) -> bytes:
    """OCFL 1.1 §3.5.5: the digest of the inventory, and its name."""
    return f"{sha512(inventory).hexdigest()} {NAME}\n".encode("ascii")


def is_sidecar_of(sidecar: bytes, inventory: bytes) -> bool:
    return digest_in(sidecar) == sha512(inventory).hexdigest()


def digest_in(sidecar: bytes) -> str:
    match = _SIDECAR.fullmatch(sidecar)
    if match is None:
        raise Broken("E061", "the sidecar is not a digest and the name of the inventory")
    return match[1].decode("ascii").lower()


@dataclass(frozen=True, slots=True)
class Version:
    """One version: `files` maps logical paths to digests."""

    change: Change
    files: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Inventory:
    """`manifest` maps each digest to the places, relative to the object, of files with that content."""

    id: str
    manifest: Mapping[str, tuple[str, ...]]
    versions: tuple[Version, ...]

    @property
    def head(self) -> int:
        return len(self.versions)

    @property
    def name(self) -> str:
        return self.id.removeprefix(ID_SCHEME)

    def kept(self) -> KeptObject:
        numbered = enumerate(self.versions, 1)
        return KeptObject(
            self.name, tuple(KeptVersion(number, version.change, version.files) for number, version in numbered)
        )

    def with_version(self, version: Version, places: Mapping[str, str]) -> Inventory:
        """With one more version; `places` tells where content that is new with it lies."""
        added = {digest: (place,) for digest, place in places.items() if digest not in self.manifest}
        return Inventory(self.id, {**self.manifest, **added}, (*self.versions, version))

    def encode(self) -> bytes:
        versions = {version_name(number): _version_fields(version) for number, version in enumerate(self.versions, 1)}
        fields = {
            "id": self.id,
            "type": TYPE,
            "digestAlgorithm": "sha512",
            "head": version_name(self.head),
            "manifest": self.manifest,
            "versions": versions,
        }
        return msgspec.json.format(msgspec.json.encode(fields), indent=1) + b"\n"

    @classmethod
    def decode(cls, content: bytes) -> Inventory:
        """`Broken`, with the code of the rule, unless it is an inventory as this software writes them."""
        fields = _parse_fields(content)
        _check_head_fields(fields)
        manifest = _manifest(_of_kind(dict, fields.get("manifest"), "E041", "there is no manifest"))
        versions = _versions(_of_kind(dict, fields.get("versions"), "E043", "there are no versions"), manifest)
        if fields["head"] != version_name(len(versions)):
            raise Broken("E040", "the head is not the last version")
        _check_manifest_is_used(manifest, versions)
        return cls(fields["id"], manifest, versions)


def _version_fields(version: Version) -> dict[str, object]:
    state: dict[str, list[str]] = {}
    for path, digest in version.files.items():
        state.setdefault(digest, []).append(path)
    change = version.change
    user = {"name": change.user} | ({"address": change.address} if change.address else {})
    return {"created": str(change.at), "message": change.message, "state": state, "user": user}


# --- reading -----------------------------------------------------------------------------------------------------

Kind = TypeVar("Kind")


def _of_kind(kind: type[Kind], value: object, code: str, reason: str) -> Kind:
    if type(value) is not kind:
        raise Broken(code, reason)
    return value


def _parse_fields(content: bytes) -> dict[str, str]:
    try:
        fields = json.loads(content.decode("utf-8"), object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError) as error:
        raise Broken("E034", f"it is not JSON: {error}") from None
    # The fields that are not texts are judged before they are used.
    return cast("dict[str, str]", _of_kind(dict, fields, "E033", "it is not a JSON object"))


def _without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise Broken("E033", "a key is repeated")
    return fields


def _check_head_fields(fields: Mapping[str, object]) -> None:
    for key in ("id", "type", "digestAlgorithm", "head"):
        if not _of_kind(str, fields.get(key), "E036", f"{key} is not a text"):
            raise Broken("E036", f"{key} is empty")
    if fields["type"] != TYPE:
        raise Broken("E038", "it is not of OCFL 1.1")
    if fields["digestAlgorithm"] != "sha512":
        raise Broken("E025", "its digests are not SHA-512")
    if fields.get("contentDirectory", CONTENT) != CONTENT:
        raise Broken("E017", "its content is not in the directory `content`")
    if not fields.keys() <= _KEYS:
        raise Broken("E033", "it has keys that are not of OCFL 1.1")


def _manifest(blocks: Mapping[str, object]) -> dict[str, tuple[str, ...]]:
    manifest: dict[str, tuple[str, ...]] = {}
    seen: set[str] = set()
    for key, value in blocks.items():
        places = _texts(value, "E092")
        for place in places:
            _check_place(place)
        digest = _digest(key, "E096", manifest)
        if len(set(places)) < len(places) or not seen.isdisjoint(places):
            raise Broken("E101", "a file is listed twice")
        seen.update(places)
        manifest[digest] = places
    return manifest


def _check_place(place: str) -> None:
    """A content path: `v<number>/content/<path>`, and nothing that leads out of there."""
    parts = place.split("/")
    _check_parts(parts, "E099", "E100", place)
    if len(parts) < 3 or not _VERSION.fullmatch(parts[0]) or parts[1] != CONTENT:
        raise Broken("E042", f"{place!r} is not in the content of a version")


def _check_parts(parts: list[str], code: str, edge: str, path: str) -> None:
    if not parts[0] or not parts[-1]:
        raise Broken(edge, f"{path!r} begins or ends with a slash")
    if not _NOWHERE.isdisjoint(parts) or "\0" in path:
        raise Broken(code, f"{path!r} leads elsewhere")
    if _SURROGATE.search(path):
        raise Broken(code, f"{path!r} is not Unicode")


def _versions(blocks: Mapping[str, object], manifest: Mapping[str, object]) -> tuple[Version, ...]:
    if not blocks:
        raise Broken("E008", "there is no version")
    names = [version_name(number) for number in range(1, len(blocks) + 1)]
    if blocks.keys() != set(names):
        raise Broken("E010", "the versions are not numbered from 1 on")
    return tuple(_version(blocks[name], manifest) for name in names)


def _version(value: object, manifest: Mapping[str, object]) -> Version:
    block = _of_kind(dict, value, "E047", "a version is not a JSON object")
    if not block.keys() <= _VERSION_KEYS:
        raise Broken("E033", "a version has keys that are not of OCFL 1.1")
    state = _of_kind(dict, block.get("state"), "E048", "a version has no state")
    return Version(_change(block), _files(state, manifest))


def _change(block: Mapping[str, object]) -> Change:
    user = _of_kind(dict, block.get("user", {"name": ""}), "E054", "a user is not a JSON object")
    name = _of_kind(str, user.get("name"), "E054", "a user has no name")
    address = _of_kind(str, user.get("address", ""), "E054", "an address is not a text")
    message = _of_kind(str, block.get("message", ""), "E094", "a message is not a text")
    created = _of_kind(str, block.get("created"), "E048", "a version has no date")
    try:
        return Change(name, message, Instant.parse(created), address or None)
    except InvalidInstant as error:
        raise Broken("E049", str(error)) from None


def _files(state: Mapping[str, object], manifest: Mapping[str, object]) -> dict[str, str]:
    files: dict[str, str] = {}
    seen: dict[str, object] = {}
    for key, value in state.items():
        digest = _digest(key, "E050", seen)
        seen[digest] = None
        if digest not in manifest:
            raise Broken("E050", "a version has content that is not in the manifest")
        for path in _texts(value, "E051"):
            _check_parts(path.split("/"), "E052", "E053", path)
            if path in files:
                raise Broken("E095", f"{path!r} is there twice")
            files[path] = digest
    _check_no_file_is_a_folder(files)
    return files


def _check_no_file_is_a_folder(files: Mapping[str, str]) -> None:
    for path in files:
        parent = path
        while "/" in parent:
            parent = parent.rpartition("/")[0]
            if parent in files:
                raise Broken("E095", f"{parent!r} is a file and a folder")


def _digest(key: str, code: str, seen: Mapping[str, object]) -> str:
    digest = key.lower()
    if not _DIGEST.fullmatch(digest):
        raise Broken(code, "a digest is not SHA-512 in hexadecimal")
    if digest in seen:
        raise Broken(code, "a digest is repeated")
    return digest


def _texts(value: object, code: str) -> tuple[str, ...]:
    texts = _of_kind(list, value, code, "paths are not in an array")
    if not texts or not all(type(text) is str for text in texts):
        raise Broken(code, "an array of paths is empty or has something else in it")
    return tuple(texts)


def _check_manifest_is_used(manifest: Mapping[str, object], versions: tuple[Version, ...]) -> None:
    used = {digest for version in versions for digest in version.files.values()}
    if not manifest.keys() <= used:
        raise Broken("E107", "the manifest has content that no version has")
