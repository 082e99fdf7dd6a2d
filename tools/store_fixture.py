"""A data directory as a release leaves it: `python -m tools.store_fixture SOURCES TARGET COMMIT`.

TARGET is `tests/support/stores/release-VERSION.tar.xz`. SOURCES is the folder `src` of that release, unpacked (`git
archive COMMIT src`). Its own command makes the directory, as people would: labels, items with editions, a
translation, a restricted one, one that was updated and one that was deleted, a token, an account, a registered Archive,
a draft that is not published, and a reader. Beside the directory, `expected.json` tells what every later version has to
find in it (`tests/scenarios/test_upgrade.py`).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha512
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

_PATIENCE = 120.0
_PROGRAM = """
try:
    from ibi.command import main
except ImportError:  # before 0.2.0
    from ibi.cli import main
main()
"""
PASSWORD = "a password for the sample"  # noqa: S105 - of no one


@dataclass(frozen=True)
class Release:
    """The command of one version, in a directory where its data directory is."""

    sources: Path
    home: Path
    data: Path
    variables: dict[str, str] = field(default_factory=dict)
    """Settings of its command and server."""

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("IBI_")}
        return {**kept, "PYTHONPATH": str(self.sources), "IBI_LOCK_DIR": str(self.home / "locks"), **self.variables}

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-c", _PROGRAM, *arguments, "--data", str(self.data)]

    def run(self, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
        """Exit code, output and errors of the command."""
        done = subprocess.run(
            self._command(*arguments),
            env=self._environment(),
            cwd=self.home,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    def __call__(self, *arguments: str, stdin: str = "") -> str:
        code, out, err = self.run(*arguments, stdin=stdin)
        if code:
            raise SystemExit(f"ibi {' '.join(arguments)}: {err}")
        return out

    @contextmanager
    def up(self) -> Iterator[str]:
        """The URL of its server, which is stopped at the end."""
        command = self._command("up", "--port", "0", "--log-level", "error")
        with subprocess.Popen(
            command, env=self._environment(), cwd=self.home, stdout=subprocess.PIPE, text=True
        ) as server:
            assert server.stdout is not None
            try:
                found = re.search(r"http://\S+", server.stdout.readline())
                if found is None:
                    raise SystemExit("the server did not start")
                yield found[0]
            finally:
                server.terminate()
                server.communicate(timeout=_PATIENCE)


def make_directory(release: Release) -> dict[str, Any]:
    """Make the data directory, and tell what is in it."""
    with release.up() as url:
        token = release("token", "create", "--scope", "deposit", "--name", "sample").strip()
        draft = _begin_draft(url, token)
        first = _deposit(release, "A thesis", "Tese\n", "--language", "pt", "--creator", "Silva, Ana")
        second = _deposit(
            release, "A thesis, 2nd edition", "Tese 2\n", "--language", "pt", "--edition-of", first["rep"]
        )
        english = _deposit(release, "In English", "Thesis 2\n", "--language", "en", "--translation-of", second["rep"])
        closed = _deposit(release, "Not for all", "Secret\n", "--language", "en", "--allow", "192.0.2.0/24")
        gone = _deposit(release, "To be deleted", "Gone\n", "--language", "en")
        release("update", english["rep"], "--title", "In English, corrected")
        release("delete", gone["rep"], "--reason", "a sample")
        with urlopen(f"{url}/{first['ibip']}", timeout=_PATIENCE) as answer:  # noqa: S310 - loopback, as the server told
            answer.read()
    release("person", "create", "ana", "--role", "librarian", "--password-stdin", stdin=f"{PASSWORD}\n")
    archive = "sid.inpe.br/mtc-m18@80/2009/02.16.17.46"
    release("resolver", "register", archive, "--key-stdin", stdin="4711081500\n")
    minted = json.loads(release("mint", "--json"))
    return {
        "version": _version(release),
        "items": [first, second, {**english, "title": "In English, corrected"}, {**closed, "is_restricted": True}],
        "deleted": gone["rep"],
        "minted": minted["rep"],
        "token": token,
        "draft": draft,
        "person": {"name": "ana", "password": PASSWORD},
        "archive": archive,
    }


def _version(release: Release) -> str:
    found = re.search(r'^__version__ = "([^"]+)"$', (release.sources / "ibi" / "__init__.py").read_text(), re.MULTILINE)
    assert found
    return found[1]


def _deposit(release: Release, title: str, text: str, *options: str) -> dict[str, Any]:
    file = release.home / "text.txt"
    file.write_text(text, encoding="utf-8")
    made = json.loads(release("deposit", str(file), "--title", title, "--json", *options))
    digest = sha512(text.encode()).hexdigest()
    return {"rep": made["rep"], "ibip": made["ibip"], "title": title, "sha512": digest, "text": text}


def _begin_draft(url: str, token: str) -> str:
    """The id of a draft with one file. `POST` is not sent on by a redirect: 0.1.0 had drafts under records."""
    for path in ("items", "records"):
        try:
            made = send(f"{url}/api/{path}", "POST", b'{"metadata": {"title": "Not published"}}', token)
        except HTTPError:
            continue
        send(f"{url}/api/{path}/{made['id']}/files/draft.txt", "PUT", b"A draft\n", token)
        return str(made["id"])
    raise SystemExit("no draft was taken")


def send(url: str, method: str, body: bytes | None, token: str) -> Any:
    """Return the JSON that a server answers."""
    kind = "application/json" if method == "POST" else "text/plain"
    headers = {"Authorization": f"Bearer {token}", "Content-Type": kind}
    request = Request(url, body, headers, method=method)  # noqa: S310 - loopback, as the server itself told
    with urlopen(request, timeout=_PATIENCE) as answer:  # noqa: S310
        return json.loads(answer.read() or b"null")


def pack(home: Path, target: Path, names: Sequence[str] = ("expected.json", "data")) -> None:
    """The directory and what is expected of it: without names of users, and no older than the epoch."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = 0
        entry.uname = entry.gname = ""
        return entry

    with tarfile.open(target, "w:xz", preset=9) as packed:
        for name in names:
            packed.add(home / name, name, filter=plain)


def main(sources: Path, target: Path, commit: str) -> None:
    with tempfile.TemporaryDirectory(prefix="ibi-store-") as place:
        release = Release(sources.resolve(), Path(place), Path(place) / "data")
        expected = {"commit": commit, **make_directory(release)}
        (Path(place) / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
        pack(Path(place), target)
    print(f"{target}: {target.stat().st_size} bytes, made by {expected['version']}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
