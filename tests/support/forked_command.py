"""Processes of the command that begin where one has already imported the package: half of what a short command costs
is its imports, and the tests run thousands of them.

Each command is a process of its own, with its own memory, working directory, environment and descriptors, forked from
one that has imported everything and done nothing. What a test changes before the imports (another locale, patches) is
not for this: `IbiCommand` then starts an interpreter.
"""

from __future__ import annotations

import array
import atexit
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO

__all__ = ["ForkedProcess", "run_forked", "run_forked_script"]

_HEAD = 8
"""Bytes of the length of a request, beside which the descriptors travel."""


class _Parent:
    """The process that forks, as its clients see it: one of each process of the tests."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    def send(self, order: bytes, descriptors: Sequence[int]) -> None:
        with self._lock:
            if self._socket is None:
                self._socket = _start()
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))]
            self._socket.sendmsg([len(order).to_bytes(_HEAD, "big")], rights)
            self._socket.sendall(order)


def _start() -> socket.socket:
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.forked_command", str(theirs.fileno())],
            cwd=Path(__file__).parents[2],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
        )

    def stop() -> None:
        ours.close()  # at which it ends
        process.wait(30)

    atexit.register(stop)
    return ours


_PARENT = _Parent()


def run_forked_script(script: Path, *arguments: str, timeout: float = 120.0) -> tuple[int, str, str]:
    """The same of a script of the tests, in the directory and the environment of the caller."""
    return run_forked(arguments, Path.cwd(), os.environ, timeout, script=script)


def run_forked(
    arguments: Sequence[str],
    directory: Path,
    environment: Mapping[str, str],
    timeout: float,
    *,
    script: Path | None = None,
) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of the command, as `subprocess.run` gives them."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with ForkedProcess(arguments, directory, environment, out.fileno(), err.fileno(), script=script) as process:
            try:
                code = process.wait(timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode().replace("\r\n", "\n"))
    return code, texts[0], texts[1]


class ForkedProcess(subprocess.Popen[str]):
    """A process of the command: as one that was started, but that another waits for it and tells how it ended."""

    def __init__(
        self,
        arguments: Sequence[str],
        directory: Path,
        environment: Mapping[str, str],
        out: int | None = None,
        err: int | None = None,
        *,
        script: Path | None = None,
    ) -> None:
        """Standard output and error go to these descriptors, or to pipes. A script is run in the command's place."""
        self.args, self.returncode, self.stdin, self.stdout, self.stderr = [*arguments], None, None, None, None
        self._child_created, self._communication_started, self._input = True, False, None
        self.text_mode, self.encoding, self.errors, self.universal_newlines = True, None, None, True
        with ExitStack() as given:
            if out is None:
                self.stdout, out = _pipe(given)
            if err is None:
                self.stderr, err = _pipe(given)
            self._status, theirs = socket.socketpair()
            given.enter_context(theirs)
            nothing = given.enter_context(Path(os.devnull).open("rb"))
            order = {
                "arguments": self.args,
                "directory": str(directory),
                "environment": dict(environment),
                "script": None if script is None else str(script),
            }
            _PARENT.send(json.dumps(order).encode(), [nothing.fileno(), out, err, theirs.fileno()])
        self._told = self._status.makefile("rb")
        self.pid = int(self._told.readline())
        self._status.setblocking(False)

    def _internal_poll(self, _deadstate: int | None = None) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self._wait(0)
        return self.returncode

    def _wait(self, timeout: float | None) -> int:
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(self.args, timeout or 0)
            self._status.setblocking(True)
            self.returncode = int(self._told.readline())
            self._told.close()
            self._status.close()
        return self.returncode


def _pipe(given: ExitStack) -> tuple[IO[str], int]:
    """What is read from it, and the descriptor to write to, which is for the other process."""
    reader, writer = os.pipe()
    given.callback(os.close, writer)
    return os.fdopen(reader, "r"), writer


# --- the process that forks ------------------------------------------------------------------------------------------


def main(descriptor: int) -> None:
    _import_all()
    gc.freeze()
    with socket.socket(fileno=descriptor) as orders:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those who wait for commands are waited for by none
        while (received := _receive(orders)) is not None:
            order, descriptors = received
            if os.fork() == 0:
                orders.close()
                _run_and_tell(order, descriptors)
            for each in descriptors:
                os.close(each)


def _import_all() -> None:
    import pkgutil
    from importlib import import_module

    import ibi

    for module in pkgutil.walk_packages(ibi.__path__, "ibi."):
        import_module(module.name)


def _receive(orders: socket.socket) -> tuple[dict[str, object], list[int]] | None:
    head, rights, _, _ = orders.recvmsg(_HEAD, socket.CMSG_SPACE(16))
    if not head:
        return None
    descriptors = array.array("i")
    for _, _, content in rights:
        descriptors.frombytes(content)
    left, parts = int.from_bytes(head, "big"), []
    while left:
        parts.append(orders.recv(left))
        left -= len(parts[-1])
    return json.loads(b"".join(parts)), list(descriptors)


def _run_and_tell(order: dict[str, object], descriptors: list[int]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    pid = os.fork()
    if pid == 0:
        _become_command(order, descriptors)
        return
    os.write(descriptors[3], b"%d\n" % pid)
    _, status = os.waitpid(pid, 0)
    os.write(descriptors[3], b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _become_command(order: dict[str, object], descriptors: list[int]) -> None:
    from ibi.command import main as run

    for number, descriptor in enumerate(descriptors[:3]):
        os.dup2(descriptor, number)
    for descriptor in descriptors:
        os.close(descriptor)
    os.chdir(str(order["directory"]))
    os.environ.clear()
    os.environ.update(order["environment"])  # type: ignore[call-overload]
    script = order["script"]
    sys.argv = [str(script or "ibi"), *order["arguments"]]  # type: ignore[misc]
    code = 1
    try:
        if script is None:
            run()
        runpy.run_path(str(script), run_name="__main__")
        code = 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:  # noqa: BLE001 - as an interpreter does, whatever it is
        traceback.print_exc()
    _end(code)


def _end(code: int) -> None:
    """As an interpreter ends, but for taking apart all that was imported, which takes longer than most commands."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main(int(sys.argv[1]))
