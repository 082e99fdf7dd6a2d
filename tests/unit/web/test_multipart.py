"""Forms of parts: read the same however they are cut, and refused where two readers could see two forms."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ibi.web.forms import MOST_HEAD, MultipartParser, PartEnd, PartHead, boundary_of
from ibi.web.request_errors import MalformedBody, UnsupportedMediaType

BOUNDARY = b"edge"


def part(content: bytes, disposition: str = 'form-data; name="a"', *headers: str) -> bytes:
    lines = [f"Content-Disposition: {disposition}", *headers]
    return b"--edge\r\n" + "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n" + content + b"\r\n"


def read(*pieces: bytes) -> list[tuple[PartHead, bytes]]:
    parser, found = MultipartParser(BOUNDARY), list[tuple[PartHead, bytes]]()
    head, content = None, b""
    for piece in pieces:
        for event in parser.feed(piece):
            if isinstance(event, PartHead):
                head, content = event, b""
            elif isinstance(event, PartEnd):
                assert head is not None
                found.append((head, content))
            else:
                content += event
    parser.finish()
    return found


def head_of(disposition: str) -> PartHead:
    ((head, _),) = read(part(b"", disposition) + b"--edge--")
    return head


PARTS = st.lists(st.binary(max_size=60) | st.sampled_from([b"\r\n--edg", b"\r\n", b"--edge", b"\r\n-\r\n--edg\r\n--"]))


@given(PARTS, st.lists(st.integers(1, 40)))
def test_contents_are_read_as_they_were_sent_however_they_are_cut(contents: list[bytes], cuts: list[int]) -> None:
    body = b"".join(map(part, contents)) + b"--edge--\r\n"
    pieces = []
    for cut in cuts:
        pieces.append(body[:cut])
        body = body[cut:]
    assert [content for _, content in read(*pieces, body)] == contents


@given(st.binary(max_size=300))
def test_no_body_raises_anything_else(body: bytes) -> None:
    for each in (body, b"--edge\r\n" + body, part(body)):
        with suppress(MalformedBody):
            read(each)


def test_heads_and_names_are_read() -> None:
    body = part(b"x", 'form-data; name="file"; filename="dir/Ação 100%.txt"', "Content-Type: text/plain")
    ((head, content),) = read(body + b"--edge--")
    assert (head.name, head.filename, content) == ("file", "dir/Ação 100%.txt", b"x")
    assert (b"content-type", b"text/plain") in head.headers


@pytest.mark.parametrize(
    ("disposition", "filename"),
    [
        ("form-data; name=file; filename=a.txt", "a.txt"),
        ('form-data; name="file"; filename="a%22b.txt"', 'a"b.txt'),
        (r'form-data; name="file"; filename="a\"b.txt"', 'a"b.txt'),
        (r'form-data; name="file"; filename="a\\b.txt"', "a\\b.txt"),
        (r'form-data; name="file"; filename="a\b.txt"', r"a\b.txt"),
        ('form-data; name="file"; filename="a;b=c.txt"', "a;b=c.txt"),
        ("form-data; name=\"file\"; filename*=UTF-8''a%C3%A7.txt", "aç.txt"),
        ('form-data; name="file"; filename="a.txt"; filename*=utf-8\'pt\'a%C3%A7.txt', "aç.txt"),
        ('FORM-DATA; NAME="file"', None),
    ],
)
def test_file_names_are_read_as_senders_write_them(disposition: str, filename: str | None) -> None:
    assert head_of(disposition)[:2] == ("file", filename)


@pytest.mark.parametrize(
    "disposition",
    [
        "",
        "attachment; name=a",
        "form-data",
        "form-data; name",
        'form-data; name="a',
        'form-data; name="a" filename="b"',
        "form-data; name=a; name=b",
        "form-data; name=a; filename*=latin-1''a",
        "form-data; name=a; filename*=UTF-8a",
        "form-data; name=a; filename*=UTF-8''%FF",
    ],
)
def test_what_cannot_be_read_one_way_only_is_refused(disposition: str) -> None:
    with pytest.raises(MalformedBody):
        head_of(disposition)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"--edge",
        b"--edge\r\n",
        b"preamble\r\n" + part(b"x") + b"--edge--",
        part(b"x"),
        part(b"x") + b"--edge",
        part(b"x") + b"--edge--epilogue",
        part(b"x") + b"--edge--" + part(b"y") + b"--edge--",
        part(b"x") + b"--edgeX\r\n",
        part(b"x").replace(b"\r\n", b"\n") + b"--edge--",
        b"--edge\r\n\r\ncontent\r\n--edge--",
        b"--edge\r\nContent-Disposition: form-data;\r\n name=a\r\n\r\n\r\n--edge--",
        part(b"x", "form-data; name=a", "Content-Disposition: form-data; name=b") + b"--edge--",
        part(b"x", "form-data; name=a", "Content-Transfer-Encoding: base64") + b"--edge--",
        part(b"x", "form-data; name=a", *(f"X-{number}: a" for number in range(20))) + b"--edge--",
        b"--edge\r\nX: " + b"a" * (MOST_HEAD + 10) + b"\r\n\r\n",
        part(b"x", "form-data; name=a", *(f"X-{number}: {'a' * 1000}" for number in range(10))) + b"--edge--",
        part(b"x", "form-data; name=a", "X : a") + b"--edge--",
        part(b"x", "form-data; name=a", "X: a\nContent-Type: text/html") + b"--edge--",
        b"--edge\r\nX: \xff\r\nContent-Disposition: form-data; name=\xff\r\n\r\n\r\n--edge--",
    ],
)
def test_a_body_that_is_no_form_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedBody):
        read(body)


@pytest.mark.parametrize("header", ["Content-Length: 5", "X.Y: a"])
def test_other_headers_of_a_part_decide_nothing(header: str) -> None:
    ((_, content),) = read(part(b"x", "form-data; name=a", header) + b"--edge--")
    assert content == b"x"


def test_the_line_of_the_last_boundary_may_end_in_a_piece_of_its_own() -> None:
    ((_, content),) = read(part(b"x") + b"--edge--", b"\r", b"\n")
    assert content == b"x"


def test_a_head_without_end_is_refused_before_it_fills_the_memory() -> None:
    parser = MultipartParser(BOUNDARY)
    list(parser.feed(b"--edge\r\n"))
    for _ in range(8):
        list(parser.feed(b"a" * 1000))
    with pytest.raises(MalformedBody, match="headers of a part"):
        list(parser.feed(b"a" * 1000))


@pytest.mark.parametrize(
    ("value", "boundary"),
    [
        (b"multipart/form-data; boundary=abc", b"abc"),
        (b'Multipart/Form-Data; charset=utf-8; boundary="a b:c"', b"a b:c"),
    ],
)
def test_a_boundary_is_read(value: bytes, boundary: bytes) -> None:
    assert boundary_of([(b"content-type", value)]) == boundary


@pytest.mark.parametrize(
    "value",
    [
        b"multipart/form-data",
        b"multipart/mixed; boundary=a",
        b"multipart/form-data; boundary=",
        b"multipart/form-data; boundary=" + b"a" * 71,
        b'multipart/form-data; boundary="a\x80"',
        b'multipart/form-data; boundary="a "',
    ],
)
def test_another_media_type_or_boundary_is_refused(value: bytes) -> None:
    with pytest.raises((UnsupportedMediaType, MalformedBody)):
        boundary_of([(b"content-type", value)])
    with pytest.raises(UnsupportedMediaType):
        boundary_of([(b"content-type", b"multipart/form-data; boundary=a"), (b"content-encoding", b"gzip")])
