"""An inventory is read as written; one that breaks a rule is refused with the rule's code."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.items.store.ocfl.layout import Broken
from ibi.items.store.ocfl.object import Inventory, Version, digest_in, is_sidecar_of, sidecar_of
from tests.support.content_samples import NAME, change

A, B = "a" * 128, "b" * 128
INVENTORY = Inventory(
    f"ibi:{NAME}",
    {A: ("v1/content/doc/a.txt",), B: ("v2/content/ü b.txt",)},
    (
        Version(change("first"), {"doc/a.txt": A}),
        Version(change("", 1), {"doc/c.txt": A, "doc/d/a.txt": A, "ü b.txt": B}),
    ),
)


def fields() -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(INVENTORY.encode())
    return decoded


def test_an_inventory_is_read_as_it_was_written() -> None:
    assert Inventory.decode(INVENTORY.encode()) == INVENTORY
    assert (INVENTORY.head, INVENTORY.name) == (2, NAME)


def test_digests_are_read_in_any_case() -> None:
    assert Inventory.decode(INVENTORY.encode().replace(A.encode(), A.upper().encode())) == INVENTORY


def test_a_version_of_another_tool_may_lack_user_and_message() -> None:
    other = fields()
    del other["versions"]["v1"]["user"], other["versions"]["v1"]["message"]
    other["versions"]["v1"]["created"] = "2026-11-15T10:00:00+02:00"
    found = Inventory.decode(json.dumps(other).encode()).versions[0].change
    assert (found.user, found.message, found.address, str(found.at)) == ("", "", None, "2026-11-15T08:00:00Z")


def broken(path: str, value: object) -> bytes:
    """The inventory with one field set to another value, or left out."""
    changed = fields()
    *above, last = path.split(".")
    place: Any = changed
    for key in above:
        place = place[key]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return json.dumps(changed).encode()


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        ("id", None, "E036"),
        ("id", "", "E036"),
        ("id", 7, "E036"),
        ("head", None, "E036"),
        ("head", "v1", "E040"),
        ("head", "v3", "E040"),
        ("type", "https://ocfl.io/1.0/spec/#inventory", "E038"),
        ("digestAlgorithm", "md5", "E025"),
        ("digestAlgorithm", "sha256", "E025"),
        ("contentDirectory", "data", "E017"),
        ("contentDirectory", "../x", "E017"),
        ("colour", "red", "E033"),
        ("manifest", None, "E041"),
        ("manifest", [], "E041"),
        ("versions", None, "E043"),
        ("versions", {}, "E008"),
        ("versions.v2", None, "E040"),
        ("versions.v1", None, "E010"),
        ("versions.v02", {}, "E010"),
        ("versions.v1", 1, "E047"),
        ("versions.v1.state", None, "E048"),
        ("versions.v1.created", None, "E048"),
        ("versions.v1.created", "yesterday", "E049"),
        ("versions.v1.created", "2026-02-30T00:00:00Z", "E049"),
        ("versions.v1.message", 7, "E094"),
        ("versions.v1.user", "Ana", "E054"),
        ("versions.v1.user", {}, "E054"),
        ("versions.v1.user", {"name": "Ana", "address": 1}, "E054"),
        ("versions.v1.colour", "red", "E033"),
        ("versions.v1.state", {"c" * 128: ["x"]}, "E050"),
        ("versions.v1.state", {A: "x"}, "E051"),
        ("versions.v1.state", {A: []}, "E051"),
        ("versions.v1.state", {A: [7]}, "E051"),
        ("versions.v1.state", {A: ["../x"]}, "E052"),
        ("versions.v1.state", {A: ["x/./y"]}, "E052"),
        ("versions.v1.state", {A: ["x\0y"]}, "E052"),
        ("versions.v1.state", {A: ["\ud800"]}, "E052"),
        ("versions.v1.state", {A: ["/etc/passwd"]}, "E053"),
        ("versions.v1.state", {A: ["x/"]}, "E053"),
        ("versions.v1.state", {A: ["x", "x"]}, "E095"),
        ("versions.v1.state", {A: ["x", "x/y"]}, "E095"),
        ("versions.v1.state", {A: ["x"], A.upper(): ["y"]}, "E050"),
        (f"manifest.{A}", [], "E092"),
        (f"manifest.{A}", "v1/content/x", "E092"),
        (f"manifest.{A}", ["v1/content/../../../x"], "E099"),
        (f"manifest.{A}", ["v1/content//x"], "E099"),
        (f"manifest.{A}", ["/v1/content/x"], "E100"),
        (f"manifest.{A}", ["v1/content/x/"], "E100"),
        (f"manifest.{A}", ["v1/x"], "E042"),
        (f"manifest.{A}", ["inventory.json"], "E042"),
        (f"manifest.{A}", ["v0/content/x"], "E042"),
        (f"manifest.{A}", ["v1/content/x", "v1/content/x"], "E101"),
        (f"manifest.{A}", ["v2/content/ü b.txt"], "E101"),
        (f"manifest.{'c' * 128}", ["v1/content/x"], "E107"),
        ("manifest.abc", ["v1/content/x"], "E096"),
        (f"manifest.{A.upper()}", ["v1/content/x"], "E096"),
    ],
)
def test_a_broken_rule_is_told_by_its_code(path: str, value: object, code: str) -> None:
    with pytest.raises(Broken) as refusal:
        Inventory.decode(broken(path, value))
    assert refusal.value.code == code


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff", b"[]", b"null", b'"x"', b"[" * 100_000, b'{"id": 1, "id": 2}', b"9" * 5000, b"{}"]
)
def test_what_is_no_inventory_is_refused(content: bytes) -> None:
    with pytest.raises(Broken):
        Inventory.decode(content)


@given(st.binary(max_size=200) | st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_anything_is_read_or_refused(content: bytes) -> None:
    with pytest.raises(Broken):
        Inventory.decode(content)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["v1", A, "name", "x"]), inner, max_size=3)
    ),
    max_leaves=5,
)
PLACES = ["id", "head", "manifest", f"manifest.{A}", "versions", "versions.v1", "versions.v2.state", "versions.v1.user"]


@given(st.sampled_from(PLACES), JSON.filter(lambda value: value is not None))
def test_any_value_in_any_place_is_read_or_refused(path: str, value: object) -> None:
    try:
        assert Inventory.decode(broken(path, value)).versions
    except Broken as refusal:
        assert refusal.code[0] == "E"


def test_a_sidecar_confirms_its_inventory_alone() -> None:
    content = INVENTORY.encode()
    assert is_sidecar_of(sidecar_of(content), content)
    assert not is_sidecar_of(sidecar_of(content), content + b" ")


@pytest.mark.parametrize(
    "sidecar", [b"", b"abc inventory.json\n", A.encode(), A.encode() + b" other.json\n", b"\xff" * 9]
)
def test_what_is_no_sidecar_is_refused(sidecar: bytes) -> None:
    with pytest.raises(Broken) as refusal:
        digest_in(sidecar)
    assert refusal.value.code == "E061"
