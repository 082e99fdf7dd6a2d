"""Our resolver and our commands, as an Archive of another make sees them (R 6 to R 9).

The Archive is a process that was written from R's text alone (`tests/foreign/archive.py`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from typing import Any
from urllib.parse import unquote_to_bytes

import pytest

from tests.foreign.archive import ibip_of
from tests.foreign.processes import ForeignProcess, foreign
from tests.support.foreign_world import (
    BROWSER,
    FILE,
    KEY,
    Followed,
    ForeignWorld,
    asked_about,
    follow,
    foreign_world,
    related_items,
    sent,
    until,
)

HOME = "sid.inpe.br/mtc-m18@80"
OTHER = "dpi.inpe.br/banon"
NOBODY = "elsewhere.gov/arq"
"""A prefix that no Archive has."""
DATES = count()


@dataclass(frozen=True)
class Foreigners:
    """`home` is the home of its items, and `other` an Archive beside it."""

    world: ForeignWorld
    home: ForeignProcess
    other: ForeignProcess

    def item(self, archive: ForeignProcess, prefix: str = HOME, **changes: Any) -> str:
        """The label of an item of its own for each test."""
        number = next(DATES)
        rep = f"{prefix}/{1996 + number // 28}/02.{number % 28 + 1:02}.03.04"
        archive("items", items=[{"rep": rep, "files": [FILE, "a%2520b.txt", "reference.bib"], **changes}])
        return rep

    def work(self, archive: ForeignProcess, **style: Any) -> dict[str, dict[str, Any]]:
        number = next(DATES)
        items = related_items(f"{HOME}/{1996 + number // 28}/03.{number % 28 + 1:02}.03", style)
        archive("items", items=list(items.values()))
        return items

    @staticmethod
    def fetched(url: str) -> Followed:
        address, _, path = url.removeprefix("http://").partition("/")
        return follow(address, f"/{path}")

    def url(self, archive: ForeignProcess, rep: str, name: str = FILE) -> str:
        return f"http://{archive.address}/col/{rep}/doc/{name}"


@pytest.fixture(scope="module")
def foreigners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Foreigners]:
    with ExitStack() as stack:
        world = stack.enter_context(foreign_world(tmp_path_factory.mktemp("foreign")))
        home, other = world.archive(f"{HOME}/2008/03.17.15.17"), world.archive(f"{OTHER}/1999/01.09.22.14")
        yield Foreigners(world, home, other)


# --- the octets of paths ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [f"/{FILE}", "/Relat%F3rio%20Final.pdf", "/a%2520b.txt", "/reference.bib"])
def test_octets_of_a_path_arrive_as_the_link_had_them(foreigners: Foreigners, path: str) -> None:
    rep = foreigners.item(foreigners.home)
    got = foreigners.world.follow(f"/{rep}{path}")
    (request,) = asked_about(foreigners.home, rep)
    assert unquote_to_bytes(sent(request, "parsedibiurl.filepath") or "") == unquote_to_bytes(path)
    assert got.status == 302, got.body[:500]
    assert got.location == foreigners.url(foreigners.home, rep, path[1:].replace("%F3", "%f3"))
    assert foreigners.fetched(got.location).status == 200


# --- keys ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["7730914258", "7730914258-7730914258", "77309142587730914258"])
def test_a_right_key_is_included_whatever_wrong_ones_its_neighbours_sent(foreigners: Foreigners, key: str) -> None:
    world, service = foreigners.world, f"neighbour{len(key)}.gov/arq/2001/01.01.00.{next(DATES):02}"
    world.register(service, key=key)
    with foreign("archive", "--service", service) as archive, ExitStack() as neighbours:
        for number in range(3):
            name = f"neighbour{len(key)}.gov/wrong{number}/2001/01.01.00.00"
            neighbour = neighbours.enter_context(foreign("archive", "--service", name))
            if number:
                world.register(name)
            for wrong in range(10):
                told = neighbour("include", resolver=world.address, key=f"99999999{wrong:02}")
                assert "included" not in told, told
        assert archive("include", resolver=world.address, key=key) == (
            "status.archive included status.confirmation successful"
        )
        assert "included" not in archive("include", resolver=world.address, key="1234509876")
        assert archive("exclude", resolver=world.address, key=key) == "status.archive excluded"


def test_a_long_right_key_is_included_after_seventy_wrong_ones_of_its_own_label(foreigners: Foreigners) -> None:
    world, service = foreigners.world, "forgetful.gov/arq/2001/01.01.00.00"
    world.register(service)
    with foreign("archive", "--service", service) as archive:
        for wrong in range(70):
            assert "included" not in archive("include", resolver=world.address, key=f"99999999{wrong:02}")
        told = archive("include", resolver=world.address, key=KEY)
        assert told == "status.archive included status.confirmation successful"
        archive("exclude", resolver=world.address, key=KEY)


# --- addresses of readers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", [HOME, NOBODY, OTHER])
@pytest.mark.parametrize("modifier", ["", "!", "+(en)"])
def test_an_archive_that_decides_by_the_readers_address_gets_all_of_it(
    foreigners: Foreigners, prefix: str, modifier: str
) -> None:
    """R 9.2; of an item that it is the home of, and of one that it is not."""
    holder = foreigners.home if prefix == HOME else foreigners.other
    number = next(DATES)
    rep = f"{prefix}/{1996 + number // 28}/04.{number % 28 + 1:02}.03.04"
    item = {"rep": rep, "files": [FILE], "translations": {"en": rep}, "style": {"for_network": "127.0.0.77"}}
    holder("items", items=[item])
    for reader, name in (("127.0.0.5", "metadata.cgi"), ("127.0.0.77", FILE), ("127.0.0.5", "metadata.cgi")):
        got = foreigners.world.follow(f"/{rep}{modifier}", reader)
        assert got.status == 302, got.body[:500]
        assert got.location == foreigners.url(holder, rep, name), reader
        told = [sent(each, "clientinformation.ipaddress") for each in asked_about(holder, rep)]
        assert reader in told
        until(lambda: bool(asked_about(holder, rep, "acknowledgment")))


def test_a_question_without_a_reader_teaches_no_url(foreigners: Foreigners) -> None:
    """What the resolver asks for itself carries its own address, and its answers are for no reader."""
    rep = foreigners.item(foreigners.home, style={"for_network": "127.0.0.77"})
    assert foreigners.world.follow(f"/{rep}", "127.0.0.5").location == foreigners.url(
        foreigners.home, rep, "metadata.cgi"
    )
    until(lambda: bool(asked_about(foreigners.other, rep)))  # the home alone decides: no reader's question goes there
    for request in (*foreigners.other("requests"), *foreigners.home("requests")):  # R Table 8.9
        if "servicesubject=urlRequest" in request:
            assert sent(request, "clientinformation.ipaddress") not in ("0.0.0.0", "::", "%3A%3A", None), request
    for reader, name in (("127.0.0.77", FILE), ("127.0.0.5", "metadata.cgi")):
        assert foreigners.world.follow(f"/{rep}", reader).location == foreigners.url(foreigners.home, rep, name)


# --- metadata beside a path, compositions ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "link", [":/reference.bib", f":/{FILE}", "/reference.bib?ibiurl.verblist=GetMetadata", ":/no.txt"]
)
def test_metadata_are_found_beside_a_path(foreigners: Foreigners, link: str) -> None:
    """R CRIARPARURL: with a verb, the path is ignored."""
    rep = foreigners.item(foreigners.home)
    got = foreigners.world.follow(f"/{rep}{link}")
    assert got.status == 302, got.body[:500]
    assert got.location == foreigners.url(foreigners.home, rep, "metadata.cgi")


COMPOSITIONS = {
    "+(pt)!": "2pt",
    "+!": "2pt",
    "!+": "2pt",
    "+!:": "2pt:en",
    "!+(pt):": "2pt:en",
    "+(pt):+": "1pt:pt",
    "!+:+": "2pt:pt",
    "+!:+(pt)": "2pt:pt",
    "!:+(en)": "2en:en",
}


@pytest.mark.parametrize("apart", ["languages", "editions"])
@pytest.mark.parametrize("modifier", COMPOSITIONS)
def test_compositions_are_found_step_by_step_over_two_archives_of_single_relations(
    foreigners: Foreigners, modifier: str, apart: str
) -> None:
    """R Example 9.3: each filters what was not asked for; and a filtered answer is no word on what there is."""
    number = next(DATES)

    def is_at_home(name: str) -> bool:
        return "en" in name.partition(":")[0] if apart == "languages" else name.startswith("1")

    date = f"{1996 + number // 28}/05.{number % 28 + 1:02}.03"
    items = related_items(date, {"relations": "single"}, lambda name: HOME if is_at_home(name) else OTHER)
    here = [item for name, item in items.items() if is_at_home(name)]
    there = [item for name, item in items.items() if not is_at_home(name)]
    foreigners.home("items", items=here)
    foreigners.other("items", items=there)
    got = foreigners.world.follow(f"/{items['1en']['rep']}{modifier}", Accept_Language="pt-BR")
    wanted = items[COMPOSITIONS[modifier]]
    assert got.status == 302, got.body[:500]
    holder = foreigners.home if wanted in here else foreigners.other
    assert got.location == foreigners.url(holder, wanted["rep"], wanted["files"][0])


def test_a_translation_that_is_nowhere_is_said_to_be_missing(foreigners: Foreigners) -> None:
    work = foreigners.work(foreigners.home, relations="single")
    for modifier in ("+(fr)", "+(fr)!", "!+(fr)"):
        got = foreigners.world.follow(f"/{work['1en']['rep']}{modifier}", Accept="application/json")
        assert got.status == 404, (modifier, got)
        assert "fr" in json.loads(got.body)["detail"]


# --- links, and what is acknowledged ---------------------------------------------------------------------------------

LINKS = [
    "/ibi/{label}",
    "/rep/{label}",
    "/ibi:{label}",
    "/upn:XXXXXX:{label}",
    "/upn:XXXXXX:/{label}",
    "/./upn:XXXXXX:/{label}",
    "/goto-/{label}",
    "/attachment.cgi/{label}",
    "/displaydoccontent.cgi/{label}",
    "/IBI:{label}",
    "/%3C{label}%3E",
    "/%3C%3C{label}%3E%3E",
    "/%E2%80%B9{label}%E2%80%BA",
    "/({label})",
]


@pytest.mark.parametrize("form", ["rep", "ibip"])
@pytest.mark.parametrize("link", LINKS)
def test_links_in_use_lead_to_their_item(foreigners: Foreigners, link: str, form: str) -> None:
    rep = foreigners.item(foreigners.home)
    label = rep if form == "rep" else ibip_of(rep)
    got = foreigners.world.follow(link.format(label=label))
    assert got.status == 302, (got.status, got.body[:300])
    assert got.location == foreigners.url(foreigners.home, rep)


@pytest.mark.parametrize(
    "text", ["<{label}>", "<<{label}>>", "‹{label}›", "({label})", "IBI: {label}", "./upn:XXX:/{label}"]
)
def test_labels_in_use_are_read_by_the_commands(foreigners: Foreigners, text: str) -> None:
    label = f"{HOME}/2009/07.21.13.23"
    for command in ("url", "explain"):
        done = foreigners.world.resolver(command, text.format(label=label))
        assert done.code == 0, done
        assert label in done.out


def test_a_verb_right_after_itself_is_dropped_and_a_composition_stays(foreigners: Foreigners) -> None:
    work = foreigners.work(foreigners.home)
    rep = work["1en"]["rep"]
    for link, wanted in (
        ("?ibiurl.verblist=GetMetadata+GetMetadata", "1en:en"),
        (":?ibiurl.verblist=GetMetadata+GetMetadata", "1en:en"),
        ("?ibiurl.verblist=GetTranslation(pt)+GetTranslation(pt)", "1pt"),
        ("+:+", "1pt:pt"),
    ):
        got = foreigners.world.follow(f"/{rep}{link}", Accept_Language="pt")
        assert got.location == foreigners.url(foreigners.home, work[wanted]["rep"], work[wanted]["files"][0]), link


ACKNOWLEDGED = {
    "/{rep}": "Data",
    "/{ibip}": "Data",
    "/{lower}:": "Metadata",
    "/{rep}!:(oai_dc)?x=y&ibiurl.requireditemstatus=Original": "Metadata",
    "/ibi/{rep}?a=%20b": "Data",
    f"/{{rep}}/{FILE}": "Data",
    "/{rep}?ibiurl.verblist=GetLastEdition+GetMetadata(oai_dc)": "Metadata",
}


@pytest.mark.parametrize("link", ACKNOWLEDGED)
def test_the_acknowledgment_tells_the_link_as_it_arrived(foreigners: Foreigners, link: str) -> None:
    """R Table 8.11, `url.persistent`."""
    rep = foreigners.item(foreigners.home)
    target = link.format(rep=rep, ibip=ibip_of(rep), lower=ibip_of(rep).lower())
    got = foreigners.world.follow(target)
    assert got.status == 302, got.body[:300]
    until(lambda: bool(asked_about(foreigners.home, rep, "acknowledgment")))
    (request,) = asked_about(foreigners.home, rep, "acknowledgment")
    told = sent(request, "url.persistent") or ""
    for plain, encoded in (("?", "%3F"), ("=", "%3D"), ("&", "%26"), ("+", "%2B")):
        told = told.replace(encoded, plain)
    assert told == f"http://{foreigners.world.address}{target}"
    assert sent(request, "contenttype") == ACKNOWLEDGED[link]
    assert sent(request, "state") == "Original"
    assert sent(request, "urlkey")
    assert sent(request, "clientinformation.ipaddress") == "127.0.0.1"


@pytest.mark.parametrize("service", [f"{HOME.removesuffix('@80')}/2008/03.17.15.17", f"{HOME}/2008/03.17.15.17"])
@pytest.mark.parametrize("prefix", [HOME, NOBODY])
def test_a_service_is_the_same_with_and_without_port_80(foreigners: Foreigners, prefix: str, service: str) -> None:
    rep = foreigners.item(foreigners.home, prefix, style={"service": service})
    got = foreigners.world.follow(f"/{rep}", Accept=BROWSER)
    assert got.location == foreigners.url(foreigners.home, rep), got.body[:500]
    assert foreigners.world.follow(f"/{rep}?ibiurl.requireditemstatus=Original").location == got.location


def test_a_service_that_was_registered_by_its_name_alone_is_known_without_its_port(foreigners: Foreigners) -> None:
    world, prefix = foreigners.world, "sid.inpe.br/mtc-m19@80"
    world.register(f"{prefix}/2008/03.17.15.17", forms="rep")
    with foreign("archive", "--service", f"{prefix}/2008/03.17.15.17") as archive:
        assert "included" in archive("include", resolver=world.address, key=KEY)
        rep = foreigners.item(archive, prefix, style={"service": "sid.inpe.br/mtc-m19/2008/03.17.15.17"})
        for pairs in ("", "?ibiurl.requireditemstatus=Original"):
            got = world.follow(f"/{rep}{pairs}")
            assert got.location == foreigners.url(archive, rep), got.body[:500]
        archive("exclude", resolver=world.address, key=KEY)


# --- services that R does not have -----------------------------------------------------------------------------------


def test_a_copy_from_an_archive_that_offers_none_is_refused_with_the_reason(foreigners: Foreigners) -> None:
    """The item is there, so nobody is told that it is not."""
    rep, where = foreigners.item(foreigners.home), f"http://{foreigners.home.address}"
    begun = time.monotonic()
    done = foreigners.world.resolver("copy", rep, "--from", where, IBI_COPIES_NETWORKS="127.0.0.0/8")
    assert time.monotonic() - begun < 10
    assert done.code != 0
    assert foreigners.home.address in done.err
    assert "has no item" not in done.err
    assert "offer" in done.err, done.err


def test_absent_and_deleted_items_are_told_apart(foreigners: Foreigners) -> None:
    assert foreigners.world.follow(f"/{HOME}/2011/11.11.11.11").status == 404
    gone = foreigners.item(foreigners.home, state="Deleted")
    assert foreigners.world.follow(f"/{gone}").status == 410
    assert not asked_about(foreigners.home, gone, "acknowledgment")
