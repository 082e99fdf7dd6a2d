"""Links followed: real processes of `ibi up`, and what a reader with a browser or curl gets from them (R §8)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.scenarios.test_membership import log_line, stop
from tests.support.ibi_command import IbiCommand

KEY = "7730914258"
NOWHERE = "lab.br/arq/2009/07.21.14.43"


def get(url: str, **headers: str) -> tuple[HTTPResponse, bytes]:
    """One request; redirects are not followed."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=30)
    try:
        target = f"{parts.path}{'?' if parts.query else ''}{parts.query}"
        connection.request("GET", target, headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def followed(url: str) -> bytes:
    """What a reader gets in the end."""
    response, _ = get(url)
    assert response.status == 302, (url, response.status)
    location = response.getheader("Location")
    assert location is not None
    response, content = get(location)
    assert response.status == 200, (location, response.status)
    return content


def deposited(command: IbiCommand, name: str, content: str, *flags: str) -> dict[str, Any]:
    (command.home / name).write_text(content)
    done = command("deposit", name, "--title", name, "--json", *flags)
    assert done.code == 0, done
    found: dict[str, Any] = json.loads(done.out)
    return found


def home(path: Path) -> IbiCommand:
    path.mkdir()
    return IbiCommand(path)


@contextmanager
def member(command: IbiCommand, resolver: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """An Archive that belongs to another's resolver; up when that has included it."""
    variables = {
        "IBI_RESOLVER": resolver,
        "IBI_ARCHIVE_REGISTRATION_KEY": KEY,
        "IBI_ARCHIVE_ADMIN_EMAIL": "ana@example.org",
    }
    with command.up("--log-level", "info", **variables) as (server, url):
        log_line(server, "included this Archive")
        yield server, url


def registered(archive: IbiCommand, resolver: IbiCommand, *flags: str) -> None:
    """Put on record at the resolver; the Archive begins with its first start."""
    with archive.up():
        service = json.loads(archive("archive", "status", "--json").out)["rep"]
    done = resolver("resolver", "register", service, "--allow-network", "127.0.0.0/8", *flags, IBI_REGISTRATION_KEY=KEY)
    assert done.code == 0, done


def test_a_deposit_is_a_link_that_leads_to_its_bytes(tmp_path: Path) -> None:
    command = IbiCommand(tmp_path)
    with command.up() as (server, url):
        made = deposited(command, "a.txt", "text")
        for label in (made["rep"], made["ibip"], made["ibip"].lower(), f"ibi/{made['rep']}"):
            assert followed(f"{url}/{label}") == b"text"
        assert followed(f"{url}/{made['ibip']}/a.txt") == b"text"
        answer, body = get(f"{url}/{made['ibip']}?ibiurl.info=json")
        assert (answer.status, json.loads(body)["url"]) == (200, made["url"])
        answer, body = get(f"{url}/{NOWHERE}", Accept="text/html", Accept_Language="pt-BR")
        assert answer.status == 404
        assert "Nenhum Arquivo tem este item" in body.decode()
        # What changes here is not remembered as it was.
        assert command("delete", made["rep"], "--reason", "by request").code == 0
        assert get(f"{url}/{made['ibip']}")[0].status == 410
        stop(server)
    # Thanks were counted before it stopped: one reader, whatever the label, counts once for each key.
    counted = json.loads(command("stats", "--json").out)
    assert counted["resolutions"] + counted["robot_resolutions"] >= 1


def test_what_an_item_leads_to_is_followed(tmp_path: Path) -> None:
    command = IbiCommand(tmp_path)
    with command.up() as (_, url):
        first = deposited(command, "one.txt", "first", "--language", "en")
        assert followed(f"{url}/{first['ibip']}!") == b"first"
        deposited(command, "two.txt", "second", "--edition-of", first["rep"], "--language", "en")
        assert followed(f"{url}/{first['ibip']}!") == b"second"
        assert followed(f"{url}/{first['ibip']}") == b"first"
        deposited(command, "um.txt", "primeiro", "--translation-of", first["rep"], "--language", "pt")
        assert followed(f"{url}/{first['ibip']}+(pt)") == b"primeiro"
        answer, body = get(f"{url}/{first['ibip']}+(es)")
        assert (answer.status, json.loads(body)["languages"]) == (404, ["en", "pt"])


def test_the_command_resolves_beside_a_server_and_through_it(tmp_path: Path) -> None:
    command = IbiCommand(tmp_path)
    with command.up() as (_, url):
        made = deposited(command, "a.txt", "text")
        for where in ((), ("--server", url)):
            found = command("resolve", made["ibip"], f"http://urlib.net/{made['rep']}", *where)
            assert (found.code, found.err) == (0, ""), found
            ends = [line.partition("/col/")[2] for line in found.out.splitlines()]
            assert ends == [f"{made['rep']}/doc/a.txt"] * 2
            told = json.loads(command("resolve", made["ibip"], "--json", *where).out)
            assert told["ibi"] == {"rep": made["rep"], "ibip": made["ibip"]}
            traced = command("trace", made["ibip"], *where)
            assert "its URL was chosen" in traced.out
            (hop,) = json.loads(command("trace", made["ibip"], "--json", *where).out)["hops"]
            assert [one["verdict"] for one in hop["archives"]] == ["chosen"]
            lost = command("resolve", NOWHERE, *where)
            assert lost.code == 1
            assert lost.err == f"ibi: {NOWHERE} is in none of the Archives of this resolver.\n"
            assert "is in none of the Archives" in command("trace", NOWHERE, *where).out


def test_an_archive_elsewhere_is_asked_over_http_and_the_reader_sent_there(tmp_path: Path) -> None:
    resolver, archive = home(tmp_path / "resolver"), home(tmp_path / "archive")
    with resolver.up() as (_, url):
        registered(archive, resolver)
        here = deposited(resolver, "here.txt", "here")
        there = deposited(archive, "there.txt", "there")
        with member(archive, url) as (server, archive_url):
            assert followed(f"{url}/{there['ibip']}") == b"there"
            assert followed(f"{url}/{here['ibip']}") == b"here"
            # E34: links between repositories lead to the resolver, wherever the other one is kept.
            answer, _ = get(f"{url}/col/{there['rep']}/doc/there.txt")
            assert answer.getheader("Location") == f"{url}/{there['rep']}/there.txt"
            assert followed(f"{url}/{there['rep']}/there.txt") == b"there"
            # The Archive on its own sends what it has not to its resolver.
            answer, _ = get(f"{archive_url}/{here['ibip']}")
            assert answer.getheader("Location") == f"{url}/{here['ibip']}"
            traced = json.loads(get(f"{url}/{there['ibip']}?ibiurl.trace=json")[1])
            assert traced["archive"]["address"] == archive_url.removeprefix("http://")
            assert resolver("resolve", there["rep"]).out == f"{archive_url}/col/{there['rep']}/doc/there.txt\n"
            stop(server)
        # Excluded with its stop: it is the home of both forms of the label, and cannot be asked (E67).
        for form in ("rep", "ibip"):
            answer, body = get(f"{url}/{there[form]}")
            assert answer.status == 502
            assert json.loads(body)["home"]["address"] is None
    counted = json.loads(archive("stats", "--json").out)
    assert (counted["rep"], counted["resolutions"] + counted["robot_resolutions"] >= 1) == (there["rep"], True)


def test_a_url_on_a_host_that_was_not_declared_is_shown_and_not_followed(tmp_path: Path) -> None:
    """E31."""
    resolver, archive = home(tmp_path / "resolver"), home(tmp_path / "archive")
    with resolver.up(IBI_RESOLVE_FOREIGN_URLS="confirm") as (_, url):
        registered(archive, resolver)
        done = archive("deposit", "--url", "http://elsewhere.example.org/service", "--title", "S", "--json")
        assert done.code == 0, done
        made = json.loads(done.out)
        with member(archive, url):
            answer, body = get(f"{url}/{made['ibip']}", Accept="text/html")
            assert (answer.status, answer.getheader("Location")) == (300, None)
            assert 'href="http://elsewhere.example.org/service"' in body.decode()


def test_files_on_a_host_of_their_own_are_found_there(tmp_path: Path) -> None:
    """E31: the Archive of this process declares the host of its content."""
    command = home(tmp_path / "site")
    with command.up(IBI_CONTENT_URL="http://files.ibi.example") as (_, url):
        label = deposited(command, "a.txt", "kept apart")["rep"]

        response, _ = get(f"{url}/{label}")

    assert response.status == 302
    assert response.getheader("Location") == f"http://files.ibi.example/col/{label}/doc/a.txt"
