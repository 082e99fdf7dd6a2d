"""Names that an item's files may and may not have."""

from __future__ import annotations

import pytest

from ibi.items.model.file import MAX_SEGMENT, check_file_name, check_file_names, collision_key
from ibi.standard.document_errors import InvalidFileName


@pytest.mark.parametrize(
    "path",
    [
        "a.pdf",
        "@relatorio.pdf",
        "CCSDS 643.0-B-1.pdf",
        "Relatório Final.pdf",
        "Relato\u0301rio.pdf",
        "a/b/c/.hidden",
        "日本語.txt",
        "100%.csv",
        "a+b&c=d#e.txt",
        "console.log",
        "com10.txt",
        "nul-modem.txt",
        "x" * MAX_SEGMENT,
        "é" * 127,
        "{braces}.txt",
        "a'b;c,d.txt",
    ],
)
def test_a_name_that_every_system_can_keep_is_kept_as_it_is(path: str) -> None:
    assert check_file_name(path) == path


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "empty"),
        ("..", "dot"),
        ("../a", "dot"),
        ("a/../b", "dot"),
        ("./a", "dot"),
        ("a//b", "empty"),
        ("a/", "empty"),
        ("/etc/passwd", "slash"),
        ("//host/share", "slash"),
        ("a\\b", "backslash"),
        ("..\\a", "backslash"),
        ("C:\\a", "backslash"),
        ("C:a", "Windows"),
        ("a\0b", "cannot be shown"),
        ("a\nb", "cannot be shown"),
        ("a\r\nurl http://evil.org", "cannot be shown"),
        ("a\x7f", "cannot be shown"),
        ("a\x85b", "cannot be shown"),
        ("a\u2028b", "cannot be shown"),
        ("a\u202egpj.exe", "not seen"),
        ("a\u200bb", "not seen"),
        ("a\udcffb", "UTF-8"),
        ("con", "device"),
        ("NUL.txt", "device"),
        ("a/Aux.tar.gz", "device"),
        ("com1", "device"),
        ("LPT9.pdf", "device"),
        ("com¹", "device"),
        ("con .txt", "device"),
        ("a.", "ends with a dot"),
        ("a ", "blank"),
        (" a", "blank"),
        ("a./b", "ends with a dot"),
        ("a /b", "blank"),
        ("...", "ends with a dot"),
        ("what?.txt", "Windows"),
        ("a*b", "Windows"),
        ('a"b', "Windows"),
        ("a|b", "Windows"),
        ("<a>", "Windows"),
        ("x" * (MAX_SEGMENT + 1), "longer than 255"),
        ("é" * 128, "longer than 255"),
        ("/".join(["x" * 200] * 6), "longer than 1024"),
    ],
)
def test_a_name_that_is_hostile_or_that_some_system_cannot_keep_is_refused(path: str, reason: str) -> None:
    with pytest.raises(InvalidFileName, match=reason) as refusal:
        check_file_name(path)
    assert repr(path[:80])[:-1] in str(refusal.value)
    assert len(str(refusal.value).splitlines()) == 1


@pytest.mark.parametrize(
    "paths",
    [
        ["a.pdf", "a.pdf"],
        ["a.pdf", "A.PDF"],
        ["é.txt", "e\u0301.txt"],
        ["straße", "STRASSE"],
        ["Σ", "ς"],
        ["data", "data/a"],
        ["data/a", "DATA"],
        ["Data/a", "data/b"],
        ["x/é/a", "x/e\u0301/b"],
    ],
)
def test_names_that_are_one_name_somewhere_are_refused_together(paths: list[str]) -> None:
    for order in (paths, paths[::-1]):
        with pytest.raises(InvalidFileName):
            check_file_names(order)


def test_different_names_are_kept_together() -> None:
    check_file_names(["a", "b", "c/a", "c/b", "d/c/a", "ab", "a.b"])


def test_the_message_names_both_files() -> None:
    with pytest.raises(InvalidFileName, match=r"'DATA/a'.*data/a"):
        check_file_names(["data/a", "DATA/a"])


def test_a_million_characters_are_refused_at_once() -> None:
    for path in ("a" * 1_000_000, "/" * 1_000_000, "a/" * 500_000 + "a", " " * 1_000_000):
        with pytest.raises(InvalidFileName):
            check_file_name(path)


def test_composed_and_decomposed_letters_of_any_case_collide() -> None:
    assert collision_key("É") == collision_key("e\u0301")
