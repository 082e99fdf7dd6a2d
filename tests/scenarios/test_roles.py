"""A resolver without an Archive, and a replica of it, which goes on when the resolver is gone."""

from __future__ import annotations

import json
from pathlib import Path

from tests.scenarios.test_two_servers_membership import Servers
from tests.scenarios.test_without_centre import ask, until
from tests.support.ibi_command import IbiCommand


def test_a_replica_resolves_by_the_register_of_its_resolver_also_while_that_is_away(tmp_path: Path) -> None:
    servers = Servers(tmp_path)
    servers.resolver.data.mkdir()
    item = json.loads(servers.archive("archive", "status", "--json").out)["rep"]
    (tmp_path / "replica").mkdir()
    replica = IbiCommand(tmp_path / "replica")
    with servers.resolver.up(IBI_ROLES="resolver") as (running, resolver):
        assert ask(resolver, "/api/identity")[0] == 404  # nothing is minted there
        assert "/api/labels" not in json.loads(ask(resolver, "/api/openapi.json")[3])["paths"]
        assert ask(resolver, "/readyz")[0] == 200
        servers.register(servers.rep)
        with (
            servers.member(resolver) as address,
            replica.up(IBI_ROLES="resolver", IBI_RESOLVER=resolver) as (process, url),
        ):
            until(lambda: ask(url, "/readyz")[0] == 200)
            until(lambda: ask(resolver, f"/{item}")[0] == 302)
            found = ask(url, f"/{item}")
            assert (found[0], found[1]) == (302, ask(resolver, f"/{item}")[1])
            assert address in str(found[1])
            running.kill()
            running.wait(30)
            assert ask(url, f"/{item}")[0] == 302
            assert process.poll() is None
    assert not (servers.resolver.data / "store").exists()
    assert not (replica.data / "mint").exists()


def test_a_replica_that_has_no_register_yet_is_not_ready(tmp_path: Path) -> None:
    replica = IbiCommand(tmp_path)
    with replica.up(IBI_ROLES="resolver", IBI_RESOLVER="http://127.0.0.1:9") as (_, url):
        status, _, _, body = ask(url, "/readyz")
        assert status == 503
        assert [each["code"] for each in json.loads(body)["reasons"]] == ["register-missing"]
        assert ask(url, "/healthz")[0] == 200
