"""The resolver of the demonstrated federation is killed, replaced, recovered, restored and moved: links go on (E94)."""

from __future__ import annotations

import json
import re
import signal
import socket
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from shutil import copy
from subprocess import Popen
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit

import pytest

from ibi.membership.rules.signed_register import read_register, sign_register
from ibi.settings import change_setting
from ibi.standard.signing import SigningKey
from tests.support.ibi_command import IbiCommand, Outcome

LIMIT = 120.0
"""Seconds until something is there that takes a moment: far above what it takes."""
QUICK = "from ibi.resolver.service import standby as s; s.FETCH_EVERY = s._SOON = s._AWAY = 0.3"
"""The resolver is looked for more often than every few seconds."""
ARCHIVES = ("amazonia", "cerrado", "pampa")
NOTICED = 1.0
"""Seconds for which links may lead to a resolver that has ended: an Archive that has just heard it asks again later."""


def get(url: str) -> tuple[int, str | None, bytes]:
    where = urlsplit(url)
    with closing(HTTPConnection(where.hostname or "", where.port, timeout=LIMIT)) as connection:
        connection.request("GET", where.path + (f"?{where.query}" if where.query else ""))
        answer = connection.getresponse()
        return answer.status, answer.getheader("location"), answer.read()


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.05)


class Site:
    """One server of the federation, with a data directory of its own."""

    def __init__(self, home: Path, data: Path, url: str) -> None:
        self.command = IbiCommand(home, first=QUICK, log=home / f"{data.name}.log")
        self.data, self.url = data, url
        self.server: Popen[str] | None = None
        self.ends: list[tuple[float, float]] = []
        """When its server was told to end, and when it had ended."""

    def run(self, *arguments: str) -> Outcome:
        return IbiCommand(self.command.home)(*arguments, "--data", str(self.data))

    def facts(self, *arguments: str) -> Any:
        done = self.run(*arguments, "--json")
        assert done.code == 0, done
        return [json.loads(line) for line in done.out.splitlines()]

    def start(self, opened: ExitStack) -> None:
        port = str(urlsplit(self.url).port)
        self.server, _ = opened.enter_context(self.command.up("--data", str(self.data), "--port", port))

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def _end(self, by: signal.Signals) -> None:
        assert self.server is not None
        begun = time.monotonic()
        self.server.send_signal(by)
        self.server.wait(60)
        self.ends.append((begun, time.monotonic()))

    def figure(self, name: str) -> float:
        found = re.search(rf"^{re.escape(name)} (\S+)$", get(f"{self.url}/metrics")[2].decode(), re.MULTILINE)
        assert found, name
        return float(found[1])


class Federation:
    """The demonstration, set up by its own command and then started again server by server."""

    def __init__(self, home: Path, opened: ExitStack) -> None:
        self.home, self.opened = home, opened
        data = home / "data"
        demo = IbiCommand(home, log=home / "demo.log").start(
            "up", "--demo=federation", "--port", "0", "--data", str(data)
        )
        try:
            assert demo.stdout is not None
            said = "".join(iter(demo.stdout.readline, "Ctrl-C stops all of them.\n"))
        finally:
            demo.send_signal(signal.SIGINT)
            demo.communicate(timeout=LIMIT)
        urls = dict(re.findall(r"^  (resolver|amazonia|cerrado|pampa) +(http://\S+)/ ", said, re.MULTILINE))
        links = re.findall(r"^  (?:copied|moved|disputed) .*\n +(http://\S+)$", said, re.MULTILINE)
        self.items = [urlsplit(link).path for link in links]
        self.sites = {name: Site(home, data / "federation" / name, url) for name, url in urls.items()}
        self.resolver = self.sites["resolver"]
        self.resolvers = [self.resolver]
        self.archives = [self.sites[name] for name in ARCHIVES]
        for site in self.sites.values():
            site.start(opened)
        until(lambda: all(each["confirmed"] for each in self.registered()))
        until(lambda: all(self.listed(site) == 4 for site in self.archives))
        self.expected = self.answers()
        assert len(self.items) == 3
        assert all(place.startswith("http") and "/col/" in place for place in self.expected.values())

    def registered(self, resolver: Site | None = None) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (resolver or self.resolver).facts("resolver", "list")
        return found

    def listed(self, site: Site) -> int:
        """Archives that can be asked, by the register that this one keeps."""
        return len(read_register((site.data / "membership" / "register.jws").read_text().strip()).refs())

    def answers(self) -> dict[tuple[str, str], str]:
        """Where each Archive leads each of the items in the end."""
        return {(site.data.name, item): follow(site.url, item) for site in self.archives for item in self.items}

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Follow all links without a pause, whatever becomes of the resolver: every answer is what it was before."""
        over, asked, wrong = Event(), [0], list[tuple[float, float, str]]()

        def watch() -> None:
            while not over.is_set():
                for (name, item), expected in self.expected.items():
                    begun, place = time.monotonic(), follow(self.sites[name].url, item)
                    asked[0] += 1
                    if place != expected:
                        wrong.append((begun, time.monotonic(), place))

        watcher = Thread(target=watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join(LIMIT)
        assert asked[0] > 500
        ends = [each for site in self.resolvers for each in site.ends]
        assert [
            place
            for begun, got, place in wrong
            if not any(got >= told and begun <= ended + NOTICED for told, ended in ends)
        ] == []

    def goes_on(self) -> None:
        """Each Archive has noticed what happened to the resolver, and every answer is what it was before."""
        until(lambda: all(site.figure("ibi_standing_in") == 1 for site in self.archives))
        for _ in range(3):
            assert self.answers() == self.expected

    def goes_on_at(self, site: Site) -> None:
        until(lambda: site.figure("ibi_standing_in") == 1)
        assert {where: place for where, place in self.answers().items() if where[0] == site.data.name} == {
            where: place for where, place in self.expected.items() if where[0] == site.data.name
        }

    def free_url(self) -> str:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            return f"http://127.0.0.1:{listener.getsockname()[1]}"

    @property
    def sources(self) -> list[str]:
        return [f"--from={each.url}" for each in self.archives]

    def is_whole(self, resolver: Site) -> None:
        """All Archives are registered with it, each with its registration key, and leave links to it."""
        until(lambda: all(each["confirmed"] and not each["awaits_key"] for each in self.registered(resolver)))
        until(lambda: all(site.figure("ibi_standing_in") == 0 for site in self.archives))
        assert len(self.registered(resolver)) == 3
        assert self.answers() == self.expected
        assert all(get(f"{resolver.url}{item}")[0] == 302 for item in self.items)

    def replace_resolver(self, name: str) -> Site:
        """An empty resolver at the address of the old one, with a key of its own."""
        self.resolvers.append(Site(self.home, self.home / name, self.resolver.url))
        return self.resolvers[-1]


def follow(url: str, item: str) -> str:
    """Where a link leads, through the resolver too."""
    place = f"{url}{item}"
    for _ in range(3):
        try:
            status, location, body = get(place)
        except OSError as error:
            return f"{place}: {error}"
        if status != 302 or location is None:
            return f"{place}: {status} {body[:200]!r}"
        place = location
        if "/col/" in place:
            return place
    return f"no end: {place}"


@pytest.fixture
def federation(tmp_path: Path) -> Iterator[Federation]:
    with ExitStack() as opened:
        yield Federation(tmp_path, opened)


def reason(site: Site) -> str | None:
    (status,) = site.facts("archive", "status")
    found: str | None = status["standing_in"]
    return found


def notices(site: Site) -> list[str]:
    return [each["reason"] for each in json.loads(get(f"{site.url}/readyz?verbose")[2])["notices"]]


def test_an_empty_resolver_is_no_worse_than_a_dead_one_and_is_recovered_without_a_mail(federation: Federation) -> None:
    with federation.watched():
        replace_and_recover(federation)


def replace_and_recover(federation: Federation) -> None:
    old_key = federation.archives[0].facts("key", "show")[0]["known_resolver"]["key"]
    federation.resolver.kill()
    federation.goes_on()

    new = federation.replace_resolver("new-resolver")
    new.start(federation.opened)
    until(lambda: all(reason(site) == "other-key" for site in federation.archives))
    federation.goes_on()
    for site in federation.archives:
        assert "other-key" in notices(site)
        assert site.figure('ibi_standing_in_reason{reason="other-key"}') == 1
        assert "resolver-replaced" in site.run("doctor").out
    assert federation.registered(new) == []

    recovered = new.facts("resolver", "recover", *federation.sources)
    assert recovered[0]["key"] == old_key
    assert [each["outcome"] for each in recovered[0]["archives"]] == ["recovered"] * 3
    federation.goes_on()

    new_key = new.facts("key", "show")[0]["resolver"]["key"]
    for site in federation.archives:
        assert site.run("key", "trust-resolver", "--key", old_key).code != 0
        trusted = site.run("key", "trust-resolver", "--key", new_key)
        assert trusted.code == 0, trusted
        assert federation.answers() == federation.expected
    federation.is_whole(new)
    assert all(reason(site) is None and notices(site) == [] for site in federation.archives)
    for site in federation.archives:
        (status,) = site.facts("archive", "status")
        assert (status["membership"], status["confirmed"], status["resolver_key"]) == ("included", True, new_key)


def test_a_shortened_list_of_the_right_key_destroys_no_register_and_one_that_says_why_is_taken(
    federation: Federation,
) -> None:
    """The key is put back and one Archive registered by hand, before the register is recovered."""
    first = federation.archives[0]
    (service,) = first.facts("archive", "status")
    secret = tomllib.loads((first.data / "ibi.toml").read_text())["archive"]["registration_key"]
    federation.resolver.kill()
    new = federation.replace_resolver("shortened")
    new.start(federation.opened)
    new.stop()
    for name in ("resolver.pem", "resolver.former"):
        (new.data / "keys" / name).unlink(missing_ok=True)
    copy(federation.resolver.data / "keys" / "resolver.pem", new.data / "keys")
    registered = IbiCommand(federation.home)(
        *("resolver", "register", service["rep"], service["ibip"], "--allow-weak-key"),
        *("--allow-network", "127.0.0.0/8", "--data", str(new.data)),
        IBI_REGISTRATION_KEY=secret,
    )
    assert registered.code == 0, registered
    new.start(federation.opened)
    until(lambda: all(reason(site) == "register-refused" for site in federation.archives))
    federation.goes_on()
    assert [federation.listed(site) for site in federation.archives] == [4, 4, 4]

    recovered = new.facts("resolver", "recover", *federation.sources)
    assert sorted(each["outcome"] for each in recovered[0]["archives"]) == ["known", "recovered", "recovered"]
    federation.is_whole(new)

    last = federation.archives[2]
    label = last.facts("archive", "status")[0]["rep"]
    assert new.run("resolver", "forget", label).code == 0
    until(lambda: all(federation.listed(site) == 3 for site in federation.archives[:2]))
    assert all(reason(site) is None for site in federation.archives[:2])
    former = read_register(get(f"{first.url}/api/register/kept?former=yes")[2].decode().strip())
    assert len(former.archives) == 4


def test_a_resolver_whose_keys_were_put_back_needs_no_confirmation_and_can_move(federation: Federation) -> None:
    key = federation.resolver.facts("key", "show")[0]["resolver"]["key"]
    backup = federation.home / "backup"
    assert federation.resolver.run("backup", str(backup)).code == 0
    with federation.watched():
        federation.resolver.kill()

        emptied = federation.replace_resolver("emptied")
        emptied.start(federation.opened)
        emptied.stop()
        for name in ("resolver.pem", "resolver.former"):  # the key alone was put back, and the register was not
            (emptied.data / "keys" / name).unlink(missing_ok=True)
        copy(federation.resolver.data / "keys" / "resolver.pem", emptied.data / "keys")
        emptied.start(federation.opened)
        until(lambda: all(reason(site) == "register-refused" for site in federation.archives))
        federation.goes_on()
        one = f"--from={federation.archives[0].url}"
        recovered = emptied.facts("resolver", "recover", one)[0]["archives"]
        assert [each["outcome"] for each in recovered] == ["recovered"] * 3
        federation.is_whole(emptied)
        emptied.kill()
        federation.goes_on()

        (emptied.data / "state.sqlite").unlink()
        assert "ibi resolver recover" in emptied.run("resolver", "list").err
        assert emptied.run("rebuild", "--empty", "state").code == 0
        recovered = emptied.facts("resolver", "recover", one)[0]["archives"]
        assert [each["outcome"] for each in recovered] == ["recovered"] * 3
        emptied.start(federation.opened)
        federation.is_whole(emptied)
        emptied.kill()
        federation.goes_on()

        restored = federation.replace_resolver("restored")
        assert restored.run("restore", str(backup)).code == 0
        done = restored.facts("resolver", "recover", *federation.sources)[0]
        assert done["key"] == key
        assert [each["outcome"] for each in done["archives"]] == ["known"] * 3
        restored.start(federation.opened)
        federation.is_whole(restored)
        restored.stop()
        federation.goes_on()

    moved = Site(federation.home, restored.data, federation.free_url())
    moved.start(federation.opened)
    for site in federation.archives:
        federation.goes_on_at(site)
        site.stop()
        change_setting(site.data / "ibi.toml", "resolver", moved.url)
        site.start(federation.opened)
        assert site.facts("key", "show")[0]["known_resolver"] in (None, {"url": moved.url, "key": key})
        assert federation.answers() == federation.expected
    federation.is_whole(moved)


def test_a_replica_leads_where_the_resolver_did_and_takes_its_place(federation: Federation) -> None:
    replica = Site(federation.home, federation.home / "replica", federation.free_url())
    replica.data.mkdir()
    settings = replica.data / "ibi.toml"
    settings.write_text(f'roles = "resolver"\nresolver = "{federation.resolver.url}"\n')
    replica.start(federation.opened)

    def leads() -> bool:
        places = {item: follow(replica.url, item) for item in federation.items}
        return places == {item: place for (name, item), place in federation.expected.items() if name == "amazonia"}

    until(leads)
    federation.resolver.kill()
    federation.goes_on()
    until(leads)

    replica.stop()
    settings.write_text('roles = "resolver"\n')
    (replica.data / "keys").mkdir(exist_ok=True)
    copy(federation.resolver.data / "keys" / "resolver.pem", replica.data / "keys")
    done = replica.facts("resolver", "recover", *federation.sources)[0]
    assert [each["outcome"] for each in done["archives"]] == ["recovered"] * 3
    federation.goes_on()
    successor = Site(federation.home, replica.data, federation.resolver.url)
    successor.start(federation.opened)
    federation.is_whole(successor)


class Impostor:
    """A server at the address of the resolver that says what it is told to, and remembers what it was asked."""

    def __init__(self, url: str) -> None:
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.asked: list[str] = []
        impostor = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                impostor.asked.append(self.path)
                status, body = impostor.answers.get(self.path.partition("?")[0], (200, b"confirmation yes"))
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing is logged."""

        self.server = ThreadingHTTPServer(("127.0.0.1", urlsplit(url).port or 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self._thread = Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()


def kept_files(site: Site) -> tuple[bytes, bytes]:
    return (site.data / "membership" / "register.jws").read_bytes(), (
        site.data / "keys" / "resolvers.json"
    ).read_bytes()


def test_who_takes_the_address_of_a_resolver_learns_no_secret_and_changes_nothing(federation: Federation) -> None:
    genuine = get(f"{federation.resolver.url}/api/register")[2]
    keys = json.loads(get(f"{federation.resolver.url}/api/keys")[2])
    federation.resolver.kill()
    before = [kept_files(site) for site in federation.archives]
    stranger = SigningKey(b"s" * 32)
    forged = sign_register([], federation.resolver.url, int(time.time()) + 9999, stranger).encode()
    secrets = [
        tomllib.loads((site.data / "ibi.toml").read_text())["archive"]["registration_key"]
        for site in federation.archives
    ]
    impostor = Impostor(federation.resolver.url)
    try:
        # It says that it has the key of the resolver, and repeats the register that was public.
        impostor.answers = {"/api/register": (200, genuine), "/api/keys": (200, json.dumps(keys).encode())}
        until(lambda: all(reason(site) == "unproven" for site in federation.archives))
        federation.goes_on()
        # It has a key of its own.
        own = {"resolver": {"key": str(stranger.public), "changes": [], "former": []}}
        impostor.answers = {"/api/register": (200, forged), "/api/keys": (200, json.dumps(own).encode())}
        until(lambda: all(reason(site) == "other-key" for site in federation.archives))
        federation.goes_on()
        # A start and a stop ask the resolver for an inclusion and an exclusion.
        first = federation.archives[0]
        first.stop()
        first.start(federation.opened)
        until(lambda: "nothing is sent to it" in str(first.facts("archive", "status")[0]["membership_reason"]))
        assert first.run("key", "trust-resolver", "--key", str(stranger.public)).code != 0  # it proves none
        federation.goes_on()
    finally:
        impostor.close()
    assert [kept_files(site) for site in federation.archives] == before
    assert impostor.asked
    assert not [each for each in impostor.asked for secret in secrets if secret in each or "registrationkey" in each]
    a_lying_archive_recovers_no_other_register(federation, genuine, forged)


def a_lying_archive_recovers_no_other_register(federation: Federation, genuine: bytes, forged: bytes) -> None:
    new, liar = federation.replace_resolver("recovered"), Impostor("http://127.0.0.1:0")
    new.start(federation.opened)
    lying = f"--from={liar.url}"
    try:
        for body in (forged, b"garbage", genuine[:-9]):
            liar.answers = {"/api/register/kept": (200, body)}
            refused = new.run("resolver", "recover", *federation.sources, lying)
            assert (refused.code, "Nothing was changed" in refused.err) == (1, True), refused
        liar.answers = {"/api/register/kept": (200, forged)}
        alone = new.run("resolver", "recover", lying)
        assert "One Archive alone" in alone.err
        key = read_register(genuine.decode().strip()).signer
        named = new.facts("resolver", "recover", *federation.sources, lying, "--key", str(key), "--dry-run")[0]
        assert [each["verdict"] for each in named["sources"]] == ["taken", "taken", "taken", "other-key"]
        assert federation.registered(new) == []
    finally:
        liar.close()
