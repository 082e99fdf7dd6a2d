"""E31: URLs on hosts that their Archive did not declare, and how hosts are declared."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.membership.opening.membership import undeclared_host
from ibi.membership.rules.authority import ArchiveRef
from ibi.resolver.rules.memory import Memory
from ibi.resolver.service.resolution_runner import ForeignUrls
from ibi.settings import Settings, load_settings
from ibi.standard.label import parse
from ibi.standard.messages import LabelForms
from ibi.standard.messages.requests import parse_request
from tests.support.membership_app import MembershipApp, query
from tests.support.memory.beliefs import MemoryBeliefs
from tests.support.resolver_app import REP, item, resolver_app
from tests.support.scripted_archives import archive

A, B = archive("a"), archive("b")
HOME = ArchiveRef(LabelForms.of(parse("lab.br/arq/2008/03.17.15.17")), "home.example.org")
ELSEWHERE = "service.example.com"
NOW = 1_800_000_000


def holds(holder: ArchiveRef) -> Memory:
    beliefs = MemoryBeliefs()
    beliefs.record_holder(parse(REP), holder.service.labels[0], NOW)
    return Memory(beliefs)


@pytest.mark.parametrize(("mode", "status"), [("holder", 302), ("confirm", 300), ("refuse", 404)])
async def test_the_home_chooses_where_its_item_is(mode: str, status: int) -> None:
    archives = {HOME: item(HOME, host=ELSEWHERE), B: b""}
    assert (await resolver_app(archives, foreign_urls=ForeignUrls(mode)).get(f"/{REP}")).status == status


async def test_a_known_holder_chooses_too_where_there_is_no_home() -> None:
    app = resolver_app(
        {A: item(A, host=ELSEWHERE), B: b""}, foreign_urls=ForeignUrls.HOLDER, memory=holds(A), wall=lambda: NOW + 1.0
    )
    assert (await app.get(f"/{REP}")).status == 302


async def test_the_only_archive_of_a_resolver_is_the_home_of_its_prefix() -> None:
    app = resolver_app({HOME: item(HOME, host=ELSEWHERE)}, foreign_urls=ForeignUrls.HOLDER)
    assert (await app.get(f"/{REP}")).headers["location"].startswith(f"http://{ELSEWHERE}/")


async def test_what_another_archive_chose_is_shown_for_confirmation() -> None:
    app = resolver_app({A: item(A, host=ELSEWHERE), B: b""}, foreign_urls=ForeignUrls.HOLDER)
    assert (await app.get(f"/{REP}")).status == 300


@pytest.mark.parametrize("host", ["127.0.0.1", "10.1.2.3", "localhost", "x.localhost", "169.254.169.254"])
async def test_a_holder_does_not_lead_into_a_private_network(host: str) -> None:
    app = resolver_app({HOME: item(HOME, host=host), B: b""}, foreign_urls=ForeignUrls.HOLDER)
    assert (await app.get(f"/{REP}")).status == 300


async def test_an_archive_declares_hosts_with_its_key() -> None:
    resolver = MembershipApp()
    await resolver.register(hosts=["kept.example.org"])
    assert (await resolver.send(query(archivehosts="Service.example.com%20files.example.org:8080"))).status == 200
    found = resolver.found()
    assert found is not None
    assert found.hosts == {"kept.example.org", "service.example.com", "files.example.org:8080"}


async def test_hosts_without_the_key_or_beyond_the_bound_change_nothing() -> None:
    resolver = MembershipApp()
    await resolver.register()
    assert (await resolver.send(query(registrationkey="9876598765", archivehosts="evil.example.com"))).status == 403
    many = "%20".join(f"h{number}.example.org" for number in range(65))
    assert (await resolver.send(query(archivehosts=many))).status == 400
    found = resolver.found()
    assert found is not None
    assert not found.hosts


def test_the_pair_is_written_only_if_there_are_hosts() -> None:
    text = query(archivehosts="service.example.com")
    assert "archivehosts=service.example.com" in parse_request(text).to_query()
    assert "archivehosts" not in parse_request(query()).to_query()


def settings(tmp_path: Path, **variables: str) -> Settings:
    return load_settings({}, {"IBI_DATA": str(tmp_path), **variables})


def test_a_web_service_on_an_undeclared_host_is_said_where_another_resolves(tmp_path: Path) -> None:
    own, url = "http://arq.lab.br", "https://service.example.com/x"
    assert undeclared_host(settings(tmp_path), own, url) is None
    other = {"IBI_RESOLVER": "http://urlib.net"}
    warning = undeclared_host(settings(tmp_path, **other), own, url)
    assert warning is not None
    assert "`archive.hosts`" in warning
    assert undeclared_host(settings(tmp_path, **other), own, "http://arq.lab.br:8080/x") is None
    declared = settings(tmp_path, **other, IBI_ARCHIVE_HOSTS="service.example.com")
    assert undeclared_host(declared, own, url) is None
