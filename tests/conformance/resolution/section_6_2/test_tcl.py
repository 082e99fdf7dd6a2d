"""The lists of R Table 6.2 and those of a real Tcl, in which platforms in use are written: each reads the other's."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from ibi.standard.messages import ErrorAnswer, Notice, UrlList, parse_url_list
from ibi.standard.pairs import Pairs, Value, decode_leniently, encoded_word
from tests.conformance.resolution.section_10.test_examples_over_http import ANSWER, FIRST_ANSWER, SECOND_ANSWER

TCLSH = shutil.which("tclsh")
EXAMPLE_9_2 = (Path(__file__).parents[1] / "section_9_2" / "example_9_2.txt").read_bytes()

pytestmark = pytest.mark.skipif(TCLSH is None, reason="there is no Tcl here: `make tcl` installs it where that works")

# Names and values come and go in hexadecimal digits, one to a line: nothing is quoted but by `array get`.
WRITE = """
fconfigure stdin -translation lf
fconfigure stdout -translation lf -encoding ENCODING
foreach {name value} [split [string trim [read stdin]] "\\n"] {
    set name [encoding convertfrom utf-8 [binary decode hex $name]]
    set answer($name) [encoding convertfrom utf-8 [binary decode hex $value]]
}
puts -nonewline [array get answer]
"""
READ = """
fconfigure stdin -translation binary
fconfigure stdout -translation lf
array set answer [read stdin]
foreach name [lsort [array names answer]] {
    puts [binary encode hex $name]
    puts [binary encode hex $answer($name)]
}
"""


def tcl(script: str, given: bytes, folder: Path) -> bytes:
    assert TCLSH is not None
    file = folder / "script.tcl"
    file.write_text(script, encoding="ascii")
    return subprocess.run([TCLSH, str(file)], input=given, capture_output=True, check=True, timeout=60).stdout


def written_by_tcl(values: dict[str, str], folder: Path, encoding: str = "utf-8") -> bytes:
    lines = (text.encode().hex() for pair in values.items() for text in pair)
    return tcl(WRITE.replace("ENCODING", encoding), "\n".join(lines).encode(), folder)


def text_of(value: Value) -> str:
    return value if isinstance(value, str) else " ".join(value)


@pytest.mark.parametrize("answer", [ANSWER, FIRST_ANSWER, SECOND_ANSWER, EXAMPLE_9_2])
def test_what_array_get_writes_of_the_standards_answers_is_read(answer: bytes, tmp_path: Path) -> None:
    pairs = Pairs.decode(answer)
    body = written_by_tcl({name: text_of(value) for name, value in pairs.items()}, tmp_path)
    assert body != answer  # in Tcl's own order, on one line
    read = parse_url_list(decode_leniently(body).pairs)
    assert isinstance(read, UrlList)
    assert read == parse_url_list(pairs)


@pytest.mark.parametrize("encoding", ["utf-8", "iso8859-1"])
@pytest.mark.parametrize(
    "url",
    [
        "http://host.br/a[1].pdf",
        "http://host.br/$x;y",
        "http://host.br/{a}/b",
        "http://host.br/a{b",
        "http://host.br/a}b",
        'http://host.br/"a"',
        "http://host.br/a\\b",
        "http://host.br/a b.pdf",
        "http://host.br/#a",
        "http://host.br/Relatório",
        "http://host.br/ends-in\\",
    ],
)
def test_a_url_that_tcl_has_to_quote_is_read(url: str, encoding: str, tmp_path: Path) -> None:
    label = "rep sid.inpe.br/mtc-m18/2012/07.12.18.08"
    values = {"ibi": label, "url": url, "state": "Original", "contenttype": "Data", "title": "{ unbalanced"}
    body = written_by_tcl(values, tmp_path, encoding)
    read = parse_url_list(decode_leniently(body).pairs)
    assert isinstance(read, UrlList), body
    found = read.entry()
    assert found is not None
    assert found.url is not None, body
    assert "%" in found.url or found.url == url
    assert found.url.startswith("http://host.br/")


def test_every_value_comes_back_as_it_was(tmp_path: Path) -> None:
    values = {
        "empty": "",
        "word": "word",
        "list": "rep a/b ibip c/d",
        "nested": "one {two three} four",
        "unicode": "çãé",
        "é": "name",
        "dollar": "$HOME [exit] ;",
        "quote": '"',
    }
    read = decode_leniently(written_by_tcl(values, tmp_path))
    assert read.left_out == ()
    assert read.pairs["empty"] == ()
    assert read.pairs["word"] == "word"
    assert read.pairs["list"] == ("rep", "a/b", "ibip", "c/d")
    assert read.pairs["nested"] == ("one", "two%20three", "four")
    assert read.pairs["unicode"] == encoded_word("çãé")
    assert read.pairs[encoded_word("é")] == "name"
    assert read.pairs["dollar"] == ("$HOME", "[exit]", ";")
    assert read.pairs["quote"] == '"'


@pytest.mark.parametrize(
    "body",
    [
        *(Pairs.decode(answer).encode() for answer in (ANSWER, FIRST_ANSWER, SECOND_ANSWER, EXAMPLE_9_2)),
        Pairs([("url", "http://host.br/{a} b$[x];"), ("ibi.platformsoftware", ()), ("x", ("é", "{", "}"))]).encode(),
        Notice().encode(),
        ErrorAnswer('no such item: {x} "y" $z [exit]').encode(),
    ],
)
def test_our_answers_are_read_by_array_set(body: bytes, tmp_path: Path) -> None:
    lines = tcl(READ, body, tmp_path).decode().split("\n")[:-1]
    texts = [bytes.fromhex(line).decode() for line in lines]
    found = dict(zip(texts[::2], texts[1::2], strict=True))
    assert found == {name: text_of(value) for name, value in Pairs.decode(body).items()}
