"""The process that reads the files of strangers: what is refused to an extractor that an attacker has taken over.

Each planted extractor goes the way of every other: `TextProcess` starts the process, and its `main` confines it.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from inspect import cleandoc
from pathlib import Path
from typing import Any

import pytest

from ibi.items.model.search import ExtractedText
from ibi.items.store.confinement import offered_confinement
from ibi.items.store.text_extraction import MOST_MEMORY
from ibi.items.store.text_process import TextProcess
from tests.unit.items.test_text_process import read

pytestmark = pytest.mark.skipif(not offered_confinement().is_any, reason="this kernel confines nothing")
needs_both = pytest.mark.skipif(not offered_confinement().is_whole, reason="this kernel lacks Landlock or seccomp")

PLANTED = """
import ctypes, errno, os, resource, signal, socket, subprocess, sys, threading
from ibi.items.store import text_extraction
BEFORE = {before!r}
def planted(source):
    try:
        exec({code!r}, globals())
    except BaseException as error:
        yield f"refused: {{type(error).__name__}}"
    else:
        yield "done"
text_extraction.READERS["plain"] = planted
exec(BEFORE, globals())
sys.exit(text_extraction.main())
"""


def planted(
    monkeypatch: pytest.MonkeyPatch, code: str, *, before: str = "", process: TextProcess | None = None
) -> ExtractedText:
    """What `TextProcess` gets of an extractor that runs `code`, where `before` ran before the confinement."""
    script, start = PLANTED.format(code=cleandoc(code), before=cleandoc(before)), subprocess.Popen

    def start_planted(command: list[str], **options: Any) -> Any:
        assert command[1:4] == ["-I", "-m", "ibi.items.store.text_extraction"]
        return start([command[0], "-I", "-c", script, *command[4:]], **options)

    with monkeypatch.context() as patched:
        patched.setattr("subprocess.Popen", start_planted)
        return read(b"some text", "text/plain", process)


@pytest.fixture
def listener() -> Iterator[int]:
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        yield listening.getsockname()[1]


def test_a_planted_extractor_runs_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert planted(monkeypatch, "1 + 1") == ExtractedText("done")


def test_a_planted_extractor_does_not_open_the_key_of_the_archive(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    key = tmp_path / "keys" / "archive.pem"
    key.parent.mkdir()
    key.write_text("a secret")
    for code in (f"open({str(key)!r}).read()", f"os.stat({str(key)!r})", f"os.listdir({str(key.parent)!r})"):
        assert planted(monkeypatch, code) == ExtractedText("refused: PermissionError")


def test_a_planted_extractor_does_not_connect(monkeypatch: pytest.MonkeyPatch, listener: int) -> None:
    opened = f"s = socket.socket(); s.connect(('127.0.0.1', {listener}))"
    assert planted(monkeypatch, opened) == ExtractedText("refused: PermissionError")
    kept = planted(monkeypatch, f"s.connect(('127.0.0.1', {listener}))", before="s = socket.socket()")
    assert kept == ExtractedText("refused: PermissionError")
    for family, kind in (("AF_INET", "SOCK_DGRAM"), ("AF_UNIX", "SOCK_STREAM"), ("AF_INET6", "SOCK_STREAM")):
        code = f"socket.socket(socket.{family}, socket.{kind})"
        assert planted(monkeypatch, code) == ExtractedText("refused: PermissionError")


@pytest.mark.parametrize(
    "code",
    [
        "os.fork()",
        "os.posix_spawn('/bin/true', ['true'], {})",
        "subprocess.run(['/bin/true'])",
        "os.execv('/bin/true', ['true'])",
        "threading.Thread(target=print).start()",
        "os.kill(os.getppid(), signal.SIGTERM)",
    ],
)
def test_a_planted_extractor_starts_no_process_and_ends_none(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    assert planted(monkeypatch, code).text in {"refused: PermissionError", "refused: RuntimeError"}


def test_a_planted_extractor_writes_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("as it was")
    for code in (
        f"open({str(tmp_path / 'new')!r}, 'w').write('x')",
        f"os.unlink({str(there)!r})",
        f"os.truncate({str(there)!r}, 0)",
        f"os.chmod({str(there)!r}, 0)",
        "os.write(0, b'x')",
        "os.ftruncate(0, 0)",
    ):
        assert (code, planted(monkeypatch, code).text) == (code, "refused: PermissionError")
    kept = planted(monkeypatch, "os.write(kept, b'x')", before=f"kept = os.open({str(there)!r}, os.O_RDWR)")
    assert kept == ExtractedText("refused: PermissionError")
    assert there.read_text() == "as it was"
    assert [path.name for path in tmp_path.iterdir()] == ["there"]


@pytest.mark.parametrize("call", ["ptrace(16, os.getppid(), 0, 0)", "unshare(0x10000000)", "syscall(425, 1, 0)"])
def test_a_planted_extractor_traces_no_process_and_reaches_nothing_by_rarer_calls(
    monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    code = f"library = ctypes.CDLL(None, use_errno=True)\nassert library.{call} == -1\nprint(ctypes.get_errno())"
    found = planted(monkeypatch, code, before="sys.stdout.flush()")
    assert found.text.startswith("1\n") or found.text == "done1\n"


STAT = """
buffer, library = ctypes.create_string_buffer(256), ctypes.CDLL(None, use_errno=True)
number = {{"x86_64": 262, "aarch64": 79}}[os.uname().machine]
if library.syscall(number, {folder}, {path!r}, buffer, {flags}) < 0:
    raise OSError(ctypes.get_errno(), "refused")
"""


@pytest.mark.parametrize("flags", [0, 0x100, 0x1000, 0x1100])
def test_a_planted_extractor_asks_nothing_about_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, flags: int
) -> None:
    key = tmp_path / "archive.pem"
    key.write_text("a secret")
    for folder in (-100, 0):
        code = STAT.format(folder=folder, path=bytes(key), flags=flags)
        before = "os.uname = lambda known=os.uname(): known"  # which is refused afterwards
        assert planted(monkeypatch, code, before=before) == ExtractedText("refused: PermissionError")


def test_a_planted_extractor_does_not_leave_its_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert planted(monkeypatch, f"bytearray({MOST_MEMORY})") == ExtractedText("refused: MemoryError")
    assert planted(monkeypatch, f"bytearray({MOST_MEMORY // 4})") == ExtractedText("done")
    code = "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))"
    assert planted(monkeypatch, code) == ExtractedText("refused: ValueError")


def test_a_planted_extractor_does_not_leave_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    found = planted(monkeypatch, "while True: pass", process=TextProcess(most_cpu=1))
    assert found.text == ""
    assert found.ends_because is not None
    assert "signal" in found.ends_because


@needs_both
def test_a_planted_extractor_gains_no_privileges(monkeypatch: pytest.MonkeyPatch) -> None:
    start, seen = subprocess.Popen, list[str]()

    def start_watched(command: list[str], **options: Any) -> Any:
        process = start(command, **options)

        def watch() -> None:
            status = Path(f"/proc/{process.pid}/status")
            while "\nSeccomp:\t2" not in (text := status.read_text()):
                assert process.poll() is None
            seen.append(text)

        threading.Thread(target=watch, daemon=True).start()
        return process

    monkeypatch.setattr("subprocess.Popen", start_watched)
    planted(monkeypatch, "while True: pass", process=TextProcess(most_cpu=1))
    assert ["\nNoNewPrivs:\t1" in text for text in seen] == [True]


# --- kernels that offer less ------------------------------------------------------------------------------------------

WITHOUT = """
import ctypes, platform, struct, sys
from ibi.items.store import confinement
ENOSYS, numbers = 0x50000 | 38, {{"x86_64": (157, 317), "aarch64": (167, 277)}}[platform.machine()]
library = ctypes.CDLL(None, use_errno=True)
confine = {without!r}
steps = [(0x20, 0, 0, 0)]
if "landlock" in confine:
    steps += [step for number in (444, 445, 446) for step in ((0x15, 0, 1, number), (0x06, 0, 0, ENOSYS))]
if "seccomp" in confine:  # `prctl(PR_SET_SECCOMP, …)` as a kernel answers it that was built without
    steps += [(0x15, 0, 4, numbers[0]), (0x20, 0, 0, 16), (0x15, 0, 1, 22), (0x06, 0, 0, 0x50000 | 22)]
    steps += [(0x06, 0, 0, 0x7FFF0000)]
steps += [(0x06, 0, 0, 0x7FFF0000)]
assert library.prctl(38, 1, 0, 0, 0) == 0 and confinement.install_filter(library, steps)
from ibi.items.store.text_process import TextProcess
from tests.unit.items.test_text_process import read
process = TextProcess(unconfined={unconfined!r})
print(confinement.offered_confinement(), process.is_on, process.can_read("text/plain", 4))
print(read(b"some text", "text/plain", process))
from ibi.doctor.diagnosis import ExaminedDirectory
from ibi.doctor.extraction import check_extraction, describe_extraction
from ibi.settings import load_settings
settings = load_settings({{}}, {{"IBI_DATA": ".", "IBI_ARCHIVE_EXTRACT_UNCONFINED": str({unconfined!r}).lower()}})
print(describe_extraction())
print([f"{{each.check}} {{each.level}}: {{each.what}}" for each in check_extraction(ExaminedDirectory(settings))])
from pytest import MonkeyPatch
from tests.unit.items.test_confinement import planted
for code in {attacks!r}:
    print(code, "=>", planted(MonkeyPatch(), code, process=process).text)
"""


def on_lesser_kernel(*without: str, unconfined: bool = False, attacks: Sequence[str] = ()) -> list[str]:
    """What a process says that runs where the kernel lacks some: what is offered, whether texts are read, one text, and
    what became of each of the `attacks` of a planted extractor."""
    script = WITHOUT.format(without=without, unconfined=unconfined, attacks=tuple(attacks))
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@needs_both
def test_seccomp_alone_confines_enough() -> None:
    offered, text, held, found = on_lesser_kernel("landlock")
    assert offered == "Confinement(landlock=0, seccomp=True) True True"
    assert text == str(ExtractedText("some text"))
    assert "by: seccomp, 768 MiB of memory" in held
    assert held.endswith("; not: Landlock.")
    assert found == "[]"


@needs_both
def test_landlock_alone_confines_files() -> None:
    offered, text, held, found = on_lesser_kernel("seccomp")
    assert offered.endswith("seccomp=False) True True")
    assert text == str(ExtractedText("some text"))
    assert held.endswith("; not: seccomp.")
    assert found.startswith("['extraction warning: ")
    assert "starting processes" in found


@needs_both
@pytest.mark.parametrize("lacking", ["landlock", "seccomp"])
def test_what_is_left_of_the_two_keeps_a_planted_extractor_from_files_and_tcp(
    lacking: str, tmp_path: Path, listener: int
) -> None:
    key, new = tmp_path / "archive.pem", tmp_path / "new"
    key.write_text("a secret")
    attacks = (
        f"open({str(key)!r}).read()",
        f"open({str(new)!r}, 'w').write('x')",
        f"os.listdir({str(tmp_path)!r})",
        f"os.unlink({str(key)!r})",
        f"os.truncate({str(key)!r}, 0)",
        f"socket.create_connection(('127.0.0.1', {listener}))",
    )
    outcomes = on_lesser_kernel(lacking, attacks=("1 + 1", *attacks))[4:]
    assert outcomes == ["1 + 1 => done", *(f"{code} => refused: PermissionError" for code in attacks)]
    assert key.read_text() == "a secret"
    assert not new.exists()


@needs_both
def test_without_either_a_planted_extractor_reaches_what_the_server_does(tmp_path: Path) -> None:
    """What the other tests find refused is refused by the confinement, and by nothing else."""
    key = tmp_path / "archive.pem"
    key.write_text("a secret")
    attack = f"open({str(key)!r}).read()"
    assert on_lesser_kernel("landlock", "seccomp", unconfined=True, attacks=(attack,))[4:] == [f"{attack} => done"]


@needs_both
def test_the_doctor_names_what_landlock_alone_leaves_open(tmp_path: Path) -> None:
    key = tmp_path / "archive.pem"
    key.write_text("a secret")
    attacks = (f"os.stat({str(key)!r})", f"os.chmod({str(key)!r}, 0o644)", f"os.utime({str(key)!r})")
    found, *outcomes = on_lesser_kernel("seccomp", attacks=attacks)[3:]
    assert outcomes == [f"{code} => done" for code in attacks]
    assert "not from asking about files, changing their modes and times" in found


@needs_both
def test_without_either_no_file_is_read_unless_that_is_allowed() -> None:
    offered, text, held, found = on_lesser_kernel("landlock", "seccomp")
    assert offered == "Confinement(landlock=0, seccomp=False) False False"
    assert "nothing of this kernel confines" in text
    assert "text=''" in text
    assert held.endswith("; not: Landlock, seccomp.")
    assert "extraction advice: they are not made" in found
    offered, text, held, found = on_lesser_kernel("landlock", "seccomp", unconfined=True)
    assert offered == "Confinement(landlock=0, seccomp=False) True True"
    assert text == str(ExtractedText("some text"))
    assert found.startswith("['extraction warning: ")
    assert "may open every file that the server may" in found


def test_confinement_leaves_the_process_that_asks_as_it_was() -> None:
    before = offered_confinement()
    thread = threading.Thread(target=offered_confinement)
    thread.start()
    thread.join()
    assert offered_confinement() == before
