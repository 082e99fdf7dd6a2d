"""Extract the text of one file (PDF, office documents, Web pages, plain text), or render Markdown, as a separate
process.

The file is standard input. The text goes to standard output piece by piece, so that a limit does not lose the text read
so far. Files are untrusted: before the process reads one, it limits its memory and CPU time, and gives up files,
network and new processes (`ibi.items.store.confinement`). So all modules that a reader needs are imported before that.
The parent process kills it when it takes too long (`ibi.items.store.text_process`). Nothing in the file is executed, no
entity is expanded, nothing is fetched.
"""

from __future__ import annotations

import codecs
import importlib
import logging
import os
import pkgutil
import re
import resource
import sys
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from html.parser import HTMLParser
from typing import IO, Final
from xml.parsers import expat

from ibi.items.store.confinement import confine_process

MOST_MEMORY: Final = 768 << 20
MOST_SECONDS: Final = 30
"""CPU seconds."""
MOST_BYTES: Final = 4 << 20
"""Maximum bytes of text; the rest is not searched."""
_MOST_UNPACKED: Final = 64 << 20
"""Maximum bytes unpacked from a document: one with more is no text for people."""
_MOST_PARTS: Final = 5_000
"""Maximum pages, slides and sheets."""
_MOST_FAILURES: Final = 20
_CHUNK: Final = 64 << 10
_CHARSET: Final = re.compile(rb"charset\s*=\s*[\"']?([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE)
_UNSEEN: Final = frozenset({"script", "style", "template", "noscript", "svg", "math"})
_OFFICE_PARTS: Final = re.compile(
    r"word/(document|footnotes|endnotes|comments|header\d*|footer\d*)\.xml|xl/sharedStrings\.xml"
    r"|xl/worksheets/sheet\d+\.xml|ppt/(slides/slide|notesSlides/notesSlide)\d+\.xml"
)
_PARAGRAPHS: Final = frozenset({"p", "h", "si", "is", "br", "tab", "line-break", "table-cell", "list-item"})


UNCONFINED: Final = "unconfined"
"""The argument that allows reading where the kernel offers no confinement."""


class TextRefused(Exception):
    """Said of a file that is built to exhaust its reader."""


def read_pdf(source: IO[bytes]) -> Iterator[str]:
    from pypdf import PdfReader

    reader = PdfReader(source, strict=False)
    failures = 0
    for number in range(min(len(reader.pages), _MOST_PARTS)):
        try:
            yield reader.pages[number].extract_text() + "\n"
        except MemoryError:
            raise
        except Exception:  # noqa: BLE001 - one unreadable page says nothing about the others
            failures += 1
            if failures > _MOST_FAILURES:
                return


def read_office(source: IO[bytes]) -> Iterator[str]:
    """Yield the text of Office Open XML and OpenDocument files, which are ZIP files of XML."""
    left = _MOST_UNPACKED
    with zipfile.ZipFile(source) as package:
        names = [entry.filename for entry in package.infolist()[: 10 * _MOST_PARTS]]
        is_open = "content.xml" in names
        wanted = ["content.xml"] if is_open else sorted(filter(_OFFICE_PARTS.fullmatch, names))
        for name in wanted[:_MOST_PARTS]:
            with package.open(name) as part:
                reading = _XmlText(None if is_open else "t")
                while chunk := part.read(_CHUNK):
                    left -= len(chunk)
                    if left < 0:
                        raise TextRefused("it unpacks to more than any text has")
                    reading.feed(chunk)
                    yield reading.take()
                yield reading.take() + "\n"


class _XmlText:
    """Extracts the text of an XML document, from all elements or from those of one name. Office documents declare no
    entities and no types; one that does is refused before anything is expanded."""

    def __init__(self, only: str | None) -> None:
        self._only, self._depth, self._pieces = only, 0, list[str]()
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._parser.EntityDeclHandler = self._refuse
        self._parser.StartElementHandler = self._begin
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text

    def feed(self, chunk: bytes) -> None:
        self._parser.Parse(chunk, False)

    def take(self) -> str:
        taken, self._pieces = "".join(self._pieces), []
        return taken

    def _refuse(self, *_: object) -> None:
        raise TextRefused("it declares entities")

    def _begin(self, name: str, _: object) -> None:
        self._depth += name.rpartition(" ")[2] == self._only

    def _end(self, name: str) -> None:
        local = name.rpartition(" ")[2]
        self._depth -= local == self._only
        if local in _PARAGRAPHS:
            self._pieces.append("\n")

    def _text(self, text: str) -> None:
        if self._only is None or self._depth:
            self._pieces.append(text)


def read_html(source: IO[bytes]) -> Iterator[str]:
    reading, done = _HtmlText(), 0
    for text in _decode(source):
        reading.feed(text)
        done += len(text)
        yield reading.take()
        if done > _MOST_UNPACKED:
            return
    reading.close()
    yield reading.take()


class _HtmlText(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._hidden, self._pieces = 0, list[str]()

    def take(self) -> str:
        taken, self._pieces = "".join(self._pieces), []
        return taken

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._hidden += tag in _UNSEEN
        self._pieces.append(" ")

    def handle_endtag(self, tag: str) -> None:
        self._hidden = max(self._hidden - (tag in _UNSEEN), 0)
        self._pieces.append(" ")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._pieces.append(data)


def read_plain(source: IO[bytes]) -> Iterator[str]:
    return _decode(source)


def _decode(source: IO[bytes]) -> Iterator[str]:
    """Yield the text in its declared encoding, or else UTF-8; undecodable bytes become replacement characters."""
    start = source.read(_CHUNK)
    declared = _CHARSET.search(start[:4096])
    name = "utf-16" if start[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    if declared is not None:
        with suppress(LookupError):  # also raised for a codec that is no text encoding
            "".encode(said := declared[1].decode("ascii"))
            name = said
    decoder = codecs.getincrementaldecoder(name)("replace")
    while start:
        yield decoder.decode(start)
        start = source.read(_CHUNK)


def render_markdown(source: IO[bytes]) -> Iterator[str]:
    from ibi.items.rules.markdown_preview import render

    yield render(source.read().decode())


READERS: Final[dict[str, Callable[[IO[bytes]], Iterator[str]]]] = {
    "pdf": read_pdf,
    "office": read_office,
    "html": read_html,
    "plain": read_plain,
    "markdown": render_markdown,
}

_IMPORTED: Final = {"pdf": ("json", "brotli", "fontTools.cffLib"), "markdown": ("ibi.items.rules.markdown_preview",)}
_IMPORTED_WHOLE: Final = {"pdf": ("pypdf", "encodings"), "markdown": ()}
"""Packages with modules that readers import only for certain files. Every reader needs the encodings that a file may
name. Modules that are not installed are not needed."""


def import_modules(reader: str) -> None:
    """Import every module that the reader may import later."""
    names = list(_IMPORTED.get(reader, ()))
    for package in _IMPORTED_WHOLE.get(reader, ("encodings",)):
        places = importlib.import_module(package).__path__
        names += [module.name for module in pkgutil.walk_packages(places, f"{package}.", onerror=lambda _: None)]
    for name in names:
        with suppress(ImportError):
            importlib.import_module(name)


def limit_process(seconds: int) -> None:
    for what, most in (
        (resource.RLIMIT_AS, MOST_MEMORY),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 32),
    ):
        resource.setrlimit(what, (most, most))
    # SIGXCPU comes first, because the kernel's SIGKILL could as well mean that the machine is out of memory.
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    os.nice(19)


def main() -> int:
    reader, seconds, unconfined = sys.argv[1:]
    import_modules(reader)
    limit_process(int(seconds))
    if not confine_process().is_any and unconfined != UNCONFINED:
        sys.stderr.write("nothing of this kernel confines the process that reads it")
        return 1
    logging.disable()  # for a slightly broken file the reader logs each of its parts
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(2_000)
    source, left = open(0, "rb", closefd=False), MOST_BYTES  # noqa: SIM115 - the process ends with it
    try:
        for piece in READERS[reader](source):
            written = piece.encode(errors="replace")[:left]
            sys.stdout.buffer.write(written)
            sys.stdout.buffer.flush()
            left -= len(written)
            if not left:
                break
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a file, the text read so far counts
        sys.stderr.write(f"{type(error).__name__}: {error}"[:500])
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
