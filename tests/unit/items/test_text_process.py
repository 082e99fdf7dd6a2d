"""The text of files, read by a process of its own: what people keep, and what strangers build to exhaust it."""

from __future__ import annotations

import subprocess
import zipfile
from io import BytesIO
from types import TracebackType
from typing import Any

import pytest

from ibi.items.model.search import ExtractedText
from ibi.items.store.text_process import TextProcess, reader_for

OFFICE = "application/vnd.openxmlformats-officedocument"
DOCX, XLSX = f"{OFFICE}.wordprocessingml.document", f"{OFFICE}.spreadsheetml.sheet"
PPTX, ODT = f"{OFFICE}.presentationml.presentation", "application/vnd.oasis.opendocument.text"


class Opened:
    """The port `OpenFile` on bytes."""

    def __init__(self, content: bytes) -> None:
        self._content, self.digest = content, ""
        self.size = len(content)

    def read(self, offset: int, length: int) -> bytes:
        return self._content[offset : offset + length]

    def close(self) -> None: ...

    def __enter__(self) -> Opened:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


def read(content: bytes, media_type: str, process: TextProcess | None = None) -> ExtractedText:
    return (process or TextProcess()).read(Opened(content), media_type)


def package(**parts: str | bytes) -> bytes:
    made = BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name.replace("__", "/").replace("_xml", ".xml"), content)
    return made.getvalue()


def pdf(pages: int, content: bytes, astray: int = 0) -> bytes:
    """A document of as many pages as are said, all of them one and the same, and of so many objects which are not where
    it says."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count %d /Kids [%s] >>" % (pages, b"3 0 R " * pages),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 99 99] /Contents 4 0 R"
        b" /Resources << /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
    ]
    body, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, start=1):
        places.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    table += b"0000000003 00000 n \n" * astray
    end = b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (5 + astray, len(body))
    return body + b"xref\n0 %d\n0000000000 65535 f \n" % (5 + astray) + table + end


WORD = (
    "<w:document xmlns:w='w'><w:p><w:r><w:t>Glac</w:t></w:r><w:r><w:t>iers</w:t></w:r></w:p>"
    "<w:p><w:t>sea</w:t></w:p></w:document>"
)
HTML = "<title>Ice</title><style>hidden</style><body><p>Rios &eacute; <script>hidden()</script>mar</body>"


@pytest.mark.parametrize(
    ("media_type", "content", "words"),
    [
        ("application/pdf", pdf(2, b"BT /F 9 Tf (Flying rivers) Tj ET"), ["Flying", "rivers", "Flying", "rivers"]),
        (DOCX, package(word__document_xml=WORD, word__styles_xml="<x>hidden</x>"), ["Glaciers", "sea"]),
        (XLSX, package(xl__sharedStrings_xml="<s><si><t>Year</t></si><si><t>Rain</t></si></s>"), ["Year", "Rain"]),
        (PPTX, package(ppt__slides__slide1_xml="<a:s xmlns:a='a'><a:p><a:t>Slide</a:t></a:p></a:s>"), ["Slide"]),
        (ODT, package(content_xml="<o xmlns:t='t'><t:p>Uma <t:s>palavra</t:s></t:p></o>"), ["Uma", "palavra"]),
        ("text/html; charset=utf-8", HTML.encode(), ["Ice", "Rios", "é", "mar"]),
        ("text/html", b"<meta charset='iso-8859-1'>Relat\xf3rio", ["Relatório"]),
        ("text/html", b"<meta charset='base64'>plain", ["plain"]),
        ("text/plain", "\ufeffUma só".encode(), ["Uma", "só"]),
    ],
)
def test_the_text_of_what_people_keep(media_type: str, content: bytes, words: list[str]) -> None:
    found = read(content, media_type)
    assert found.text.split() == words
    assert found.ends_because is None


@pytest.mark.parametrize("media_type", ["image/png", "application/zip", "application/octet-stream", "", "x"])
def test_other_files_have_no_text(media_type: str) -> None:
    assert reader_for(media_type, 10) is None
    assert not TextProcess().can_read(media_type, 10)


def test_a_file_that_is_too_large_is_left_alone() -> None:
    assert reader_for("application/pdf", 1 << 40) is None
    assert reader_for("application/pdf", 0) is None


LAUGHS = "<!DOCTYPE x [<!ENTITY a 'ha'>" + "".join(
    f"<!ENTITY {chr(98 + n)} '{f'&{chr(97 + n)};' * 10}'>" for n in range(9)
)


@pytest.mark.parametrize(
    ("media_type", "content"),
    [
        (DOCX, package(word__document_xml=f"{LAUGHS}]><w:t xmlns:w='w'>&j;</w:t>")),
        (ODT, package(content_xml="<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><x>&a;</x>")),
        (DOCX, package(word__document_xml=b"<x><t>" + b" " * (200 << 20))),
        (DOCX, b"PK\x05\x06 no package at all"),
        (DOCX, package(word__document_xml="<x><t>no end")[:-30]),
        ("application/pdf", b"%PDF-1.7 no document at all"),
        ("application/pdf", pdf(1, b"").replace(b"/Kids [3 0 R ]", b"/Kids [2 0 R ]")),
        ("application/pdf", b"%PDF-1.4\n1 0 obj\n" + b"[" * 200_000),
    ],
    ids=[
        "billion laughs",
        "outer entity",
        "zip bomb",
        "no package",
        "cut off",
        "no pdf",
        "circle of pages",
        "deep pdf",
    ],
)
def test_a_hostile_file_ends_within_its_limits(media_type: str, content: bytes) -> None:
    found = read(content, media_type)
    assert "root:" not in found.text
    assert not found.text.strip() or "no end" in found.text


DECLARED = "<!DOCTYPE x [<!ENTITY a 'expanded'>]><x xmlns:w='w'><w:t>before &a;</w:t></x>"
OUTER = "<!DOCTYPE x [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><x><t>before &a;</t></x>"


@pytest.mark.parametrize(
    ("media_type", "content"),
    [
        (DOCX, package(word__document_xml=f"{LAUGHS}]><w:t xmlns:w='w'>&j;</w:t>")),
        (DOCX, package(word__document_xml=DECLARED)),
        (DOCX, package(word__document_xml="<!DOCTYPE x><x><t>before</t></x>")),
        (ODT, package(content_xml=DECLARED)),
        (ODT, package(content_xml=OUTER)),
        (ODT, package(content_xml="<!DOCTYPE x SYSTEM 'http://192.0.2.1/x.dtd'><x>before</x>")),
        (XLSX, package(xl__sharedStrings_xml="<!DOCTYPE s [<!ENTITY % p 'x'>]><s><si><t>before</t></si></s>")),
    ],
)
def test_a_document_of_an_office_that_declares_a_type_is_refused_before_any_of_it_is_read(
    media_type: str, content: bytes
) -> None:
    assert read(content, media_type) == ExtractedText("", "TextRefused: it declares entities")


def test_an_endless_pdf_is_stopped_and_what_was_read_of_it_counts() -> None:
    endless = pdf(5_000, b"BT /F 9 Tf " + b"(word) Tj " * 20_000 + b"ET")
    found = read(endless, "application/pdf", TextProcess(most_cpu=1))
    assert found.ends_because is not None
    assert "signal" in found.ends_because
    assert not found.may_pass


def test_a_process_that_takes_too_long_is_killed() -> None:
    endless = pdf(5_000, b"BT /F 9 Tf " + b"(word) Tj " * 20_000 + b"ET")
    found = read(endless, "application/pdf", TextProcess(most_seconds=0.0))
    assert found.ends_because == "it took too long"
    assert found.may_pass


def test_a_process_that_something_else_kills_may_read_the_file_another_time(monkeypatch: pytest.MonkeyPatch) -> None:
    start = subprocess.Popen

    def start_and_kill(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        process: subprocess.Popen[bytes] = start(command, **options)
        process.kill()  # as a machine without memory does
        return process

    monkeypatch.setattr("subprocess.Popen", start_and_kill)
    found = read(b"some text", "text/plain")
    assert (found.text, found.may_pass) == ("", True)


def test_a_pdf_of_which_there_is_much_to_complain_is_read_all_the_same() -> None:
    found = read(pdf(1, b"BT /F 9 Tf (Flying rivers) Tj ET", astray=3_000), "application/pdf")
    assert (found.text.split(), found.ends_because) == (["Flying", "rivers"], None)


def test_a_process_that_complains_much_is_not_kept_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    said = "import sys; sys.stderr.write('x' * 1_000_000); print('text'); sys.exit(1)"
    start = subprocess.Popen
    monkeypatch.setattr("subprocess.Popen", lambda command, **options: start([command[0], "-I", "-c", said], **options))
    assert read(b"a", "text/plain") == ExtractedText("text\n", "x" * 500)


def test_text_ends_where_enough_was_read() -> None:
    found = read(b"word " * (2 << 20), "text/plain")
    assert 4_000_000 < len(found.text) <= 4 << 20


def test_nothing_is_read_any_more_once_it_is_stopped() -> None:
    process = TextProcess()
    process.stop()
    assert read(b"word " * 1_000, "text/plain", process).text == ""
