"""`ibi up --demo=federation`: three Archives and a resolver on one machine, each in its own process.

The command does every step like a user, so that each step can be repeated by hand. All servers are sandboxes: their
items move only within this machine.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

import click

from ibi.command import main
from ibi.settings import FILE_NAME, write_initial_toml
from ibi.standard.errors import IbiError
from ibi.standard.identity import Identity
from ibi.storage.machine import write_durably

_STORY: Final = "federation.json"
"""The file with the finished steps and the labels of the items. A later start goes on from there."""
_RESOLVER: Final = "resolver"
_HOME, _COPIER, _RECEIVER = "amazonia", "cerrado", "pampa"
_SITES: Final = {
    _RESOLVER: "The resolver",
    _COPIER: "Archive of the Cerrado",
    _RECEIVER: "Archive of the Pampa",
    _HOME: "Archive of the Amazon",
}
"""The servers in the order in which they start."""
_STEPS: Final = {
    "copied": "depositing an item, and making a Copy of it",
    "moved": "depositing an item, and moving it to another Archive",
    "disputed": "putting an item back in another Archive, which disputes it from then on",
}
"""The description of each step for waiting users."""
_PATIENCE: Final = 60.0


class FederationFailed(IbiError):
    """The demonstration could not be set up: {what}. Remove {directory} to begin anew."""

    code = "federation-failed"


@dataclass(frozen=True)
class _Site:
    """One of the servers, with its own data directory."""

    name: str
    data: Path
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class _Commands:
    """Runs the command on the data directory of a site."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def run(self, site: _Site, *arguments: str, given: str | None = None) -> dict[str, Any]:
        """Run a command and return the first line of its JSON."""
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
            source.write((given or "").encode())
            source.seek(0)
            command = [*arguments, "--json", "--data", str(site.data)]
            code = _exit_code(_fork(command, source.fileno(), out.fileno(), error.fileno()))
            printed, complaint = (_text(file) for file in (out, error))
        if code:
            said = (complaint or printed).strip().splitlines() or ["it said nothing"]
            what = f"`ibi {arguments[0]}` of {site.name} was refused: {said[-1]}"
            raise FederationFailed(what=what, directory=self._home)
        first: dict[str, Any] = json.loads(printed.splitlines()[0]) if printed.strip() else {}
        return first


def _fork(arguments: Sequence[str], source: int, out: int, error: int, *, apart: bool = False) -> int:
    """Run the command in a process forked from this one, on these descriptors, and return its number.

    A short command mostly costs imports, which this process has made already. `apart` gives the process its own
    session.
    """
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if apart:
            os.setsid()
        else:
            signal.alarm(int(_PATIENCE))
        for number, descriptor in enumerate((source, out, error)):
            os.dup2(descriptor, number)
        main(list(arguments))
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    finally:
        os._exit(code)  # the parent process owns the open resources


def _exit_code(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def run_federation(data: Path, port: int) -> None:
    """Serve all sites until Ctrl-C. The resolver listens on `port` if it is free."""
    home = data / "federation"
    sites: dict[str, _Site] = {}
    signal.signal(signal.SIGTERM, _end)  # the same effect as Ctrl-C: the servers are stopped at any time
    with suppress(KeyboardInterrupt), ExitStack() as running:
        story = _Story(home, sites)
        for name in _SITES:
            click.echo(f"ibi: starting {_SITES[name]} ({len(sites) + 1} of {len(_SITES)})", err=True)
            sites[name] = _known_site(home / name) or _begin(home / name, *_first_settings(name, port, sites, story))
            running.enter_context(_up(sites[name], home))
            story.join(sites[name])
        story.tell()
        _welcome(sites, story)
        while True:
            signal.pause()


def _first_settings(name: str, port: int, sites: dict[str, _Site], story: _Story) -> tuple[int, dict[str, str]]:
    """Return the port of a site, and its settings."""
    if name == _RESOLVER:
        return _free_port(port), {"site.name": _SITES[name]}
    membership = {
        "resolver": sites[_RESOLVER].url,
        "archive.registration_key": f"{secrets.randbelow(10**10):010}-{secrets.randbelow(10**10):010}",
        "archive.admin_email": f"{name}@federation.example",
        "site.name": _SITES[name],
    }
    if name == _HOME:  # it names the Archive that stands in for it
        membership["archive.copies_at"] = story.labels[_report_joined(_COPIER)]
    return _free_port(0), membership


def _known_site(data: Path) -> _Site | None:
    import tomllib

    file = data / FILE_NAME
    if not file.is_file():
        return None
    port = tomllib.loads(file.read_text("utf-8")).get("port", 8765)
    return _Site(data.name, data, int(port))


def _begin(data: Path, port: int, settings: dict[str, str]) -> _Site:
    write_initial_toml(data / FILE_NAME, Identity.of_sandbox(port), port=port, others=settings)
    return _Site(data.name, data, port)


def _free_port(wanted: int) -> int:
    for port in (wanted, 0):
        try:
            with socket.create_server(("127.0.0.1", port)) as listener:
                return int(listener.getsockname()[1])
        except OSError:
            continue
    raise FederationFailed(what="no port is free", directory="nothing")


@contextmanager
def _up(site: _Site, home: Path) -> Iterator[None]:
    reading, writing = os.pipe()
    with (home / f"{site.name}.log").open("ab") as log, Path(os.devnull).open("rb") as nothing:
        # In a session of its own: Ctrl-C is for this process, which stops the servers one after the other.
        command = ["up", "--data", str(site.data)]
        server = _fork(command, nothing.fileno(), writing, log.fileno(), apart=True)
    os.close(writing)
    try:
        with os.fdopen(reading, encoding="utf-8") as said:
            if "is up" not in said.readline():
                what = f"the server of {site.name} did not start; {home / site.name}.log says why"
                raise FederationFailed(what=what, directory=home)
            yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(server, signal.SIGTERM)
        os.waitpid(server, 0)


class _Story:
    """The events between the Archives, step by step. Each step is made once."""

    def __init__(self, home: Path, sites: dict[str, _Site]) -> None:
        self._home, self._sites, self._commands = home, sites, _Commands(home)
        self.labels: dict[str, str] = self._read()

    def join(self, site: _Site) -> None:
        """Make the resolver include an Archive."""
        if site.name != _RESOLVER:
            self._once(_report_joined(site.name), partial(self._register, site))
            self._wait_for_inclusion(site)

    def tell(self) -> None:
        self._once("copied", self._copy)
        self._once("moved", self._move)
        self._once("disputed", self._dispute)

    def _register(self, site: _Site) -> str:
        import tomllib

        status = self._commands.run(site, "archive", "status")
        labels = [str(status[form]) for form in ("rep", "ibip") if status.get(form)]
        key = tomllib.loads((site.data / FILE_NAME).read_text("utf-8"))["archive"]["registration_key"]
        self._commands.run(
            self._sites[_RESOLVER],
            "resolver",
            "register",
            *labels,
            "--key-stdin",
            "--allow-network",
            "127.0.0.0/8",
            given=f"{key}\n",
        )
        return labels[0]

    def _wait_for_inclusion(self, site: _Site) -> None:
        deadline = time.monotonic() + _PATIENCE
        while self._commands.run(site, "archive", "status").get("membership") != "included":
            if time.monotonic() > deadline:
                raise FederationFailed(what=f"{site.name} was not included by the resolver", directory=self._home)
            time.sleep(0.2)

    def _deposit(self, name: str, file_name: str, title: str, text: str) -> str:
        with tempfile.TemporaryDirectory(dir=self._home) as folder:
            file = Path(folder) / file_name
            file.write_text(text, "utf-8")
            site = self._sites[name]
            item = self._commands.run(site, "deposit", str(file), "--title", title, "--creator", _SITES[name])
        return str(item["rep"])

    def _copy(self) -> str:
        """Deposit an item at the Amazon, and copy it to the Cerrado."""
        label = self._deposit(
            _HOME, "rain.txt", "Rain over the forest", "Of all that falls, half comes back from the trees.\n"
        )
        self._commands.run(self._sites[_COPIER], "copy", label, "--from", self._sites[_HOME].url)
        return label

    def _move(self) -> str:
        """Deposit an item at the Cerrado, and move it to the Pampa. It keeps its label."""
        label = self._deposit(
            _COPIER, "atlas.txt", "Atlas of the savanna", "Sheet 1 of 1: everything between two rivers.\n"
        )
        token = str(
            self._commands.run(self._sites[_RECEIVER], "token", "create", "--scope", "edit", "--name", "transfers")[
                "token"
            ]
        )
        self._commands.run(
            self._sites[_COPIER], "transfer", label, "--to", self._sites[_RECEIVER].url, "--token", token
        )
        return label

    def _dispute(self) -> str:
        """Deposit an item at the Amazon, and copy its directory into the store of the Pampa, which then takes it for an
        Original."""
        label = self._deposit(_HOME, "notes.txt", "Notes of a traveller", "The river was there before its name.\n")
        source, target = (self._sites[name].data / "store" / label for name in (_HOME, _RECEIVER))
        shutil.copytree(source, target)
        self._commands.run(self._sites[_RECEIVER], "rebuild")
        with suppress(FederationFailed):  # the link is followed once, so that the resolver learns of it
            self._commands.run(self._sites[_RESOLVER], "resolve", label)
        return label

    def _once(self, step: str, make: Callable[[], str]) -> None:
        if step not in self.labels:
            if step in _STEPS:
                click.echo(f"ibi: {_STEPS[step]}", err=True)
            self.labels[step] = make()
            write_durably(self._home / _STORY, json.dumps(self.labels, indent=1).encode() + b"\n")

    def _read(self) -> dict[str, str]:
        path = self._home / _STORY
        found: dict[str, str] = json.loads(path.read_bytes()) if path.exists() else {}
        return found


def _report_joined(name: str) -> str:
    return f"{name} joined"


def _welcome(sites: dict[str, _Site], story: _Story) -> None:
    resolver = sites[_RESOLVER].url
    click.echo("a federation is up: four sandboxes, each a server of its own")
    for name, site in sites.items():
        click.echo(f"  {name:9} {site.url}/  {_SITES[name]}")
    click.echo("")
    for step, text in _SHOWN.items():
        label = story.labels[step]
        click.echo(f"  {step:9} {text}")
        click.echo(f"            {resolver}/{label}")
        click.echo(f"            {resolver}/{label}?ibiurl.trace=html")
    click.echo("")
    click.echo(f"  the register {resolver}/resolver")
    click.echo("Stop one of the Archives (the process that listens on its port), and follow its links again.")
    click.echo("Ctrl-C stops all of them.")


_SHOWN: Final = {
    "copied": "an item of the Amazon, of which the Cerrado keeps a Copy",
    "moved": "an item of the Cerrado, whose Original the Pampa keeps now",
    "disputed": "an item of the Amazon, of which the Pampa claims to have the Original",
}


def _end(*_: object) -> None:
    raise KeyboardInterrupt
