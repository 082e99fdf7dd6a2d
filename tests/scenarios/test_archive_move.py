"""`ibi archive move`: the same Archive at another address, with one inclusion."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ibi.server.server import listen
from tests.scenarios.test_two_servers_membership import Servers
from tests.support.ibi_command import IbiCommand


@pytest.fixture
def servers(tmp_path: Path) -> Servers:
    return Servers(tmp_path)


def free_port() -> int:
    listener = listen("127.0.0.1", 0)
    try:
        return int(listener.getsockname()[1])
    finally:
        listener.close()


def test_an_archive_moves_with_one_command_and_one_inclusion(servers: Servers) -> None:
    with servers.resolver.up() as (_, resolver):
        servers.register(servers.rep)
        with servers.member(resolver) as before:
            assert servers.listed()["address"] == before
            new = f"http://localhost:{free_port()}"
            done = servers.archive("archive", "move", "--to", new, "--json")
            assert done.code == 0, done
            facts = json.loads(done.out)
            assert (facts["to"], facts["runs"]) == (new, True)
            assert f"return 308 {new}$request_uri;" in facts["nginx"]
            assert f"redir {new}{{uri}} 308" in facts["caddy"]
        moved = urlsplit(new)
        command = IbiCommand(servers.archive.home)
        variables = {
            "IBI_RESOLVER": resolver,
            "IBI_ARCHIVE_REGISTRATION_KEY": "7730914258",
            "IBI_ARCHIVE_ADMIN_EMAIL": "banon@dpi.inpe.br",
            "IBI_ARCHIVE_IP": "127.0.0.1",
            "IBI_PORT": str(moved.port),
        }
        with command.up("--port", str(moved.port), "--log-level", "info", **variables) as (server, _):
            assert server.stderr is not None
            next(line for line in server.stderr if "included this Archive" in line)
            one = servers.listed()
            assert (one["address"], one["confirmed"], one["pending"]) == (moved.netloc, True, None)
