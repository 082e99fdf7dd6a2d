"""An Archive and a resolver, each a process of its own: registered, included, called back, excluded (R Figure 7.1)."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.ibi_command import IbiCommand

KEY = "7730914258"


def log_line(server: subprocess.Popen[str], words: str) -> str:
    """The next line of the log with these words; the others before it are passed over."""
    assert server.stderr is not None
    return next(line for line in server.stderr if words in line)


def listed(resolver: IbiCommand) -> list[dict[str, object]]:
    return [json.loads(line) for line in resolver("resolver", "list", "--json").out.splitlines()]


@pytest.fixture
def resolver(tmp_path: Path) -> Iterator[tuple[IbiCommand, subprocess.Popen[str], str]]:
    (tmp_path / "resolver").mkdir()
    command = IbiCommand(tmp_path / "resolver")
    with command.up("--log-level", "info") as (server, url):
        yield command, server, url


def archive(tmp_path: Path) -> tuple[IbiCommand, str]:
    """An Archive that was begun, and the label of its service."""
    (tmp_path / "archive").mkdir()
    command = IbiCommand(tmp_path / "archive")
    with command.up():
        pass
    return command, json.loads(command("archive", "status", "--json").out)["rep"]


@pytest.mark.parametrize("allowed", [True, False])
def test_an_archive_is_registered_included_called_back_and_excluded(
    tmp_path: Path, resolver: tuple[IbiCommand, subprocess.Popen[str], str], allowed: bool
) -> None:
    register, running, url = resolver
    command, label = archive(tmp_path)
    networks = ("--allow-network", "127.0.0.0/8") if allowed else ()
    done = register("resolver", "register", label, *networks, IBI_REGISTRATION_KEY=KEY)
    assert done.code == 0, done
    member = {
        "IBI_RESOLVER": url,
        "IBI_ARCHIVE_REGISTRATION_KEY": KEY,
        "IBI_ARCHIVE_ADMIN_EMAIL": "banon@dpi.inpe.br",
        "IBI_ARCHIVE_IP": "127.0.0.1",
    }
    with command.up("--log-level", "info", **member) as (server, address):
        told = log_line(server, "included this Archive")
        assert ("could not reach it" in told) is not allowed
        (one,) = listed(register)
        assert (one["rep"], one["address"], one["included"], one["confirmed"]) == (
            label,
            address.removeprefix("http://"),
            True,
            allowed,
        )
        logged = log_line(running, "an Archive was included")
        assert KEY not in logged + told
        server.send_signal(signal.SIGTERM)
        server.communicate(timeout=30)
    (one,) = listed(register)
    assert (one["included"], one["address"]) == (False, None)


def test_an_archive_with_another_key_is_not_included(
    tmp_path: Path, resolver: tuple[IbiCommand, subprocess.Popen[str], str]
) -> None:
    register, _, url = resolver
    command, label = archive(tmp_path)
    register("resolver", "register", label, IBI_REGISTRATION_KEY=KEY)
    member = {
        "IBI_RESOLVER": url,
        "IBI_ARCHIVE_REGISTRATION_KEY": "5985125171",
        "IBI_ARCHIVE_ADMIN_EMAIL": "banon@dpi.inpe.br",
        "IBI_ARCHIVE_IP": "127.0.0.1",
    }
    with command.up("--log-level", "info", **member) as (server, _):
        assert "No Archive is registered here with this IBI and this key" in log_line(server, "reason")
        assert listed(register)[0]["included"] is False
