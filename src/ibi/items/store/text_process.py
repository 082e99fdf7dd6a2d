"""Run `ibi.items.store.text_extraction` for a file, in a process that is killed at its limit."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryFile, gettempdir
from threading import Event
from typing import IO, Final

from ibi.items.model.search import ExtractedText
from ibi.items.ports.archive_store import OpenFile
from ibi.items.store.confinement import offered_confinement
from ibi.items.store.text_extraction import MOST_BYTES, MOST_SECONDS, UNCONFINED
from ibi.storage.errors import DiskRefused
from ibi.storage.machine import refusals

_MOST_SECONDS: Final = 60.0
"""Wall-clock time, because a waiting process uses no CPU time."""
MOST_RENDERING: Final = 2
"""CPU seconds for a preview, including the start of its process."""
_LARGEST: Final = 256 << 20
"""Maximum bytes of a file that is read."""
_CHUNK: Final = 1 << 20
_LOOK: Final = 0.2
_MOMENT: Final = 1.0
"""Seconds that a process has to exit after it closed its output."""
_MOST_TOLD: Final = 500
"""Maximum bytes of error output."""
_OFFICE: Final = (
    "application/vnd.openxmlformats-officedocument.",
    "application/vnd.oasis.opendocument.text",
    "application/vnd.oasis.opendocument.spreadsheet",
    "application/vnd.oasis.opendocument.presentation",
)
_READERS: Final = {
    "application/pdf": "pdf",
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/plain": "plain",
    "text/markdown": "plain",
}


def reader_for(media_type: str, size: int) -> str | None:
    """Return the reader for such a file; None if its text is not extracted."""
    kind = media_type.partition(";")[0].strip().lower()
    if not 0 < size <= _LARGEST:
        return None
    return "office" if kind.startswith(_OFFICE) else _READERS.get(kind)


class TextProcess:
    """Implements the ports `TextReader` and `MarkdownRenderer`, with a process for each file."""

    def __init__(
        self, most_seconds: float = _MOST_SECONDS, most_cpu: int = MOST_SECONDS, *, unconfined: bool = False
    ) -> None:
        """A process is killed after `most_seconds`, and ends after `most_cpu` seconds of CPU time. Where the kernel
        cannot confine the process, files are read only if `unconfined` allows it."""
        self._most_seconds, self._most_cpu = most_seconds, most_cpu
        self._allowed = UNCONFINED if unconfined else ""
        self._is_on = unconfined or offered_confinement().is_any
        self._stopping = Event()

    @property
    def is_on(self) -> bool:
        """True if files are read at all."""
        return self._is_on

    def can_read(self, media_type: str, size: int) -> bool:
        return self._is_on and reader_for(media_type, size) is not None

    def render(self, text: str) -> ExtractedText:
        with refusals(DiskRefused, Path(gettempdir())), TemporaryFile() as copy:
            copy.write(text.encode(errors="replace"))
            copy.flush()
            copy.seek(0)
            return self._run("markdown", copy, min(self._most_cpu, MOST_RENDERING))

    def read(self, file: OpenFile, media_type: str) -> ExtractedText:
        reader = reader_for(media_type, file.size)
        if reader is None:
            return ExtractedText("", "it is no text")
        with refusals(DiskRefused, Path(gettempdir())), TemporaryFile() as copy:
            offset = 0
            while chunk := file.read(offset, _CHUNK):
                copy.write(chunk)
                offset += len(chunk)
            copy.flush()
            copy.seek(0)
            return self._run(reader, copy, self._most_cpu)

    def stop(self) -> None:
        """End the running extraction. Its file can be read again later."""
        self._stopping.set()

    def _run(self, reader: str, source: IO[bytes], most_cpu: int) -> ExtractedText:
        command = [sys.executable, "-I", "-m", "ibi.items.store.text_extraction", reader, str(most_cpu), self._allowed]
        process = subprocess.Popen(  # noqa: S603 - our own module
            command,
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd="/",
            env={"LC_ALL": "C.UTF-8"},
            start_new_session=True,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            text, told, is_late = self._collect(process.stdout, process.stderr)
        finally:
            _end(process)
            last_words = os.read(process.stderr.fileno(), _MOST_TOLD)
            process.stdout.close()
            process.stderr.close()
        reason = (told + last_words)[:_MOST_TOLD].decode(errors="replace")
        ends_because = _reason(process.returncode, reason, is_late=is_late)
        may_pass = is_late or (process.returncode < 0 and process.returncode != -signal.SIGXCPU)
        return ExtractedText(text.decode(errors="replace"), ends_because, may_pass)

    def _collect(self, stream: IO[bytes], complaints: IO[bytes]) -> tuple[bytearray, bytearray, bool]:
        """Return the text of the process, the beginning of its error output, and whether it is late.

        Reading stops when the process ends, exceeds the size limit or is late. Error output is drained as well;
        otherwise the process would block on a full pipe.
        """
        text, told, until = bytearray(), bytearray(), time.monotonic() + self._most_seconds
        with selectors.DefaultSelector() as waiting:
            waiting.register(stream, selectors.EVENT_READ, text)
            waiting.register(complaints, selectors.EVENT_READ, told)
            while len(text) < MOST_BYTES and not self._stopping.is_set():
                if time.monotonic() > until:
                    return text, told, True
                for ready, _ in waiting.select(_LOOK):
                    piece = os.read(ready.fd, 1 << 16)
                    if not piece and ready.data is text:
                        return text, told, False
                    if not piece:
                        waiting.unregister(ready.fileobj)
                    ready.data.extend(piece)
                    del told[_MOST_TOLD:]
        return text, told, False


def _end(process: subprocess.Popen[bytes]) -> None:
    """Wait a moment for the process to exit by itself, and then kill it."""
    try:
        process.wait(_MOMENT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _reason(code: int, told: str, *, is_late: bool) -> str | None:
    """Return why the text is cut off; None if it is complete."""
    if is_late:
        return "it took too long"
    if code < 0:
        return f"the process that read it was ended by signal {-code}"
    return told or None if code else None
