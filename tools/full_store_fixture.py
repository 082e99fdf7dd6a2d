"""Make a data directory with every feature in use: `python -m tools.full_store_fixture SOURCES TARGET COMMIT`.

SOURCES is the folder `src` of an earlier version, unpacked; TARGET is `tests/support/stores/full-layout-1.tar.xz`. Two
servers of that version exchange an Original in each direction, a claim, a Copy and a follow. A script that runs with
the stores of that version adds rows that no command writes: sessions, second factors, identities and beliefs. A
backup, made by that version too, lies beside the directory (`tests/faults/test_upgrade_kills.py`).
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.store_fixture import PASSWORD, Release, pack, send

_KEY = "4711081500"
_PATIENCE = 120.0
_LOOPBACK = "127.0.0.0/8"

_ADD_ROWS = """
import sys
from dataclasses import replace
from pathlib import Path
from ibi.requests.rules import RequestRules
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName, parse
from ibi.people.model.account import Invitation, LinkUse, Person, Role, SecondFactor, Session, SignInLink
from ibi.requests.model import ReaderInquiry, RequestKind, RequestState
from ibi.membership.model.registration import ClaimKind, KnownDeletion, Ruling
from ibi.items.model.transfer_record import ToldChain
from ibi.standard.messages.holders import CopyHolder
from ibi.resolver.store.beliefs import SqliteBeliefs
from ibi.claims.store import SqliteNotifications
from ibi.people.store.people import SqlitePeople
from ibi.requests.store import SqliteRequests
from ibi.transfers.store.transfers import SqliteChainStore, SqliteTransferLedger

data, item = Path(sys.argv[1]), sys.argv[2]
NOW, LATER, AT = Instant.parse("2026-11-15T12:00:00Z"), Instant.parse("2036-11-15T12:00:00Z"), 1_800_000_000
people = SqlitePeople(data)
ana = people.find("ana")
people.add(Person("Jos\\u00e9 \\u00c5ngstr\\u00f6m", Role.DEPOSITOR, NOW, shown="Jos\\u00e9", mail="Jose@example.org",
                  language="pt-BR", disabled=LATER))
assert people.open_session(Session(b"s" * 32, "ana", NOW, LATER, "192.0.2.0/24", "Firefox, Linux"), ana)
for number, use in enumerate(LinkUse):
    assert people.add_link(SignInLink(bytes([number]) * 32, "ana", LATER, use), ana)
people.invite(Invitation(b"i" * 32, "Eva@lab.example", Role.LIBRARIAN, NOW, LATER, "person:ana", "Eva"))
assert people.add_identity("https://login.example", "4711", "ana")
people.change_factor("ana", lambda _: SecondFactor(b"secret of twenty byte", NOW, 7, frozenset({b"r" * 32, b"q" * 32})))
people.close()

a, b, c = (parse(f"example.org/{name}/2008/03.17.15.17") for name in "abc")
other = parse("lab.br/arq/2009/07.21.14.43")
beliefs = SqliteBeliefs(data)
for number in range(40):
    label = parse(f"lab.br/arq{number % 3}/2010/01.01.10.{number:02}")
    beliefs.record_successors(label, (a, b), AT + number)
    beliefs.record_holder(label, c, AT + number)
beliefs.record_signed_successors(other, (b,), AT)
beliefs.record_copies(a, frozenset({b, c}), AT)
beliefs.record_deletion(parse("lab.br/arq/2011/07.21.14.43"), KnownDeletion(a, AT - 5), AT)
for kind in ClaimKind:
    beliefs.record_claim(other, c, a, kind, AT)
beliefs.record_told(other, c, AT + 1)
beliefs.record_proof(other, c, AT + 2)
beliefs.rule(Ruling(parse("lab.br/arq/2012/07.21.14.43"), c, frozenset({a, c}), AT + 1, "ana"))
beliefs.close()

requests = SqliteRequests(data)
for number, language in enumerate(("es", "", "pt-BR")):
    asked = ReaderInquiry(kind=RequestKind.COPY, item=item, title="Uma tese", owner="person:ana", name="Rui",
        mail="rui@example.org", text="Para\\nestudo", network="192.0.2.0", made=AT + number, language=language)
    rules = RequestRules()
    requests.add(asked, rules.spans(asked.made), rules.check)
requests.change(2, lambda each: replace(each, state=RequestState.GRANTED, digest=b"d" * 32, expires=AT + 9))
requests.close()

ledger = SqliteTransferLedger(data, data.parent / "locks")
ledger.note_untold(RepositoryName.parse("a.example/ibi/2020/01.01.00.00"))
ledger.keep_track()
ledger.note_unheard(["http://unheard.example"])
ledger.close()
notifications = SqliteNotifications(data)
last = notifications.received.about(item)[-1]
for number in range(3):
    added = notifications.received.add(replace(last, id=f"urn:uuid:{number}"))
notifications.received.remove(added.number)
notifications.close()
chains = SqliteChainStore(data)
for number in range(5):
    rep = f"lab.br/chain/2013/01.01.10.{number:02}"
    chains.change(parse(rep), lambda _: ToldChain((RepositoryName.parse(rep),), ("one", "two"), (a, b)))
chains.close()
"""


@dataclass
class Place:
    """An Archive of the earlier version, with the settings of its server."""

    release: Release
    url: str = ""
    service: str = ""
    tokens: dict[str, str] = field(default_factory=dict)

    def deposit(self, title: str, *options: str) -> str:
        file = self.release.home / "text.txt"
        file.write_text(f"{title}\n", encoding="utf-8")
        return str(json.loads(self.release("deposit", str(file), "--title", title, "--json", *options))["rep"])

    def make_token(self, scope: str, *options: str) -> str:
        name = f"{scope} token"
        self.tokens[scope] = self.release("token", "create", "--scope", scope, "--name", name, *options).split()[0]
        return self.tokens[scope]


def _wait_for(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            raise SystemExit(f"{what} did not come")
        time.sleep(0.2)


@contextmanager
def _rows(data: Path, name: str) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"file:{data / name}?mode=ro", uri=True)) as connection:
        yield connection


def _count(data: Path, name: str, table: str, condition: str = "1") -> int:
    with _rows(data, name) as connection:
        ((found,),) = connection.execute(f"SELECT count(*) FROM {table} WHERE {condition}").fetchall()  # noqa: S608
        return int(found)


def make_full_directory(release: Release, peer_release: Release) -> dict[str, Any]:
    """Use every feature, and return the facts that later versions have to find."""
    kept, peer = Place(release), Place(peer_release)
    for each in (kept, peer):
        each.release.variables.update({"IBI_COPIES_NETWORKS": _LOOPBACK, "IBI_WORKERS": "1"})
    with ExitStack() as opened:
        with peer.release.up():
            peer.service = _service_of(peer)
        kept.url = opened.enter_context(kept.release.up())
        kept.service = _service_of(kept)
        kept.release(
            *("resolver", "register", peer.service, "--key-stdin", "--allow-network", _LOOPBACK),
            *("--admin-mail", "ana@example.org", "--allow-weak-key"),
            stdin=f"{_KEY}\n",
        )
        peer.release.variables.update(
            {
                "IBI_RESOLVER": kept.url,
                "IBI_ARCHIVE_REGISTRATION_KEY": _KEY,
                "IBI_ARCHIVE_ADMIN_EMAIL": "banon@dpi.inpe.br",
                "IBI_ARCHIVE_IP": "127.0.0.1",
            }
        )
        peer.url = opened.enter_context(peer.release.up())
        _wait_for(lambda: _count(release.data, "registry.sqlite", "registrations", "confirmed = 1") > 0, "an inclusion")
        facts = _use_features(kept, peer)
    # Reviews need a server that asks for them.
    release.variables["IBI_ARCHIVE_REVIEW"] = "true"
    with release.up() as url:
        facts["reviewed"] = _submit_drafts(url, kept)
    _add_rows(release, facts["items"][0])
    return facts


def _service_of(place: Place) -> str:
    return str(json.loads(place.release("archive", "status", "--json"))["rep"])


def _use_features(kept: Place, peer: Place) -> dict[str, Any]:
    run = kept.release
    first = kept.deposit("A thesis", "--language", "pt", "--creator", "Silva, Ana")
    second = kept.deposit("A thesis, 2nd edition", "--language", "pt", "--edition-of", first)
    given = kept.deposit("To be given away", "--language", "en")
    gone = kept.deposit("To be deleted", "--language", "en")
    offered = kept.deposit("Offered to others", "--language", "en")
    run("delete", gone, "--reason", "a sample")
    taken, copied = peer.deposit("To be taken"), peer.deposit("To be copied")
    run("person", "create", "ana", "--role", "librarian", "--password-stdin", stdin=f"{PASSWORD}\n")
    run("person", "invite", "rui@example.org", "--role", "depositor")
    token = kept.make_token("edit")
    for scope in ("read", "deposit", "admin", "copy"):
        kept.make_token(scope)
    kept.make_token("deposit", "--for", "ana")
    peer.make_token("edit")
    revoked = run("token", "create", "--scope", "read", "--name", "revoked").split()[0]
    run("token", "revoke", revoked.split("_")[1])

    run("collection", "create", "theses", "--title", "Theses", "--description", "All of them", "--curator", "ana")
    run("collection", "add", "theses", first, second)
    run("collection", "create", "found", "--title", "Found", "--search", "thesis")
    run("webhook", "add", f"{peer.url}/hook", "--kind", "put", "--json")
    # The numbers of rows that were deleted are not used again.
    run("collection", "create", "removed", "--title", "Removed")
    run("collection", "remove", "removed")
    run("webhook", "remove", json.loads(run("webhook", "add", f"{peer.url}/other", "--json"))["id"])
    run("copy", copied, "--from", peer.url)
    run("follow", "add", taken, "--from", peer.url)
    job = send(f"{kept.url}/api/copies", "POST", json.dumps({"labels": [copied], "from": peer.url}).encode(), token)
    _wait_for(
        lambda: send(f"{kept.url}/api/copies/{job['id']}", "GET", None, token)["state"] in {"done", "ended"}, "a job"
    )

    run("transfer", given, "--to", peer.url, "--token", peer.tokens["edit"], "--wait", "60")
    peer.release("transfer", taken, "--to", kept.url, "--token", token, "--wait", "60")
    run("transfer", offered, "--to", peer.url, "--wait", "0")
    _wait_for(
        lambda: _count(run.data, "transfers.sqlite", "transfers", "stage = 'done'") >= 1, "the end of the transfers"
    )
    translation = peer.deposit("A translation", "--language", "en", "--translation-of", first)
    _wait_for(lambda: _count(run.data, "notifications.sqlite", "received") > 0, "a claim")
    kept.deposit("Translated here", "--language", "es", "--translation-of", copied)
    _wait_for(lambda: _count(run.data, "notifications.sqlite", "sent") > 0, "a claim of ours")
    _wait_for(lambda: bool(run("claims", "--json").strip()), "the list of claims")
    run("claims", first, translation, "--accept")
    return {
        "items": [first, second, given, offered, taken, copied],
        "deleted": gone,
        "tokens": kept.tokens,
        "person": {"name": "ana", "password": PASSWORD},
        "peer": peer.service,
        "collection": "theses",
    }


def _submit_drafts(url: str, kept: Place) -> list[str]:
    """Return the drafts: one waits, one was returned and one was published."""
    drafts = []
    for number in range(3):
        title = json.dumps({"metadata": {"title": f"Draft {number}"}}).encode()
        draft = str(send(f"{url}/api/items", "POST", title, kept.tokens["deposit"])["id"])
        send(f"{url}/api/items/{draft}/files/draft.txt", "PUT", b"A draft\n", kept.tokens["deposit"])
        send(f"{url}/api/items/{draft}/publish", "POST", b"", kept.tokens["deposit"])
        drafts.append(draft)
    edit = kept.tokens["edit"]
    send(f"{url}/api/reviews/{drafts[0]}/comments", "POST", b'{"text": "Please wait"}', edit)
    send(f"{url}/api/reviews/{drafts[1]}/return", "POST", b'{"text": "Add a summary"}', edit)
    send(f"{url}/api/items/{drafts[2]}/publish", "POST", b"", edit)
    return drafts


def _add_rows(release: Release, item: str) -> None:
    environment = {"PYTHONPATH": str(release.sources), "PATH": os.environ["PATH"]}
    command = [sys.executable, "-c", _ADD_ROWS, str(release.data), item]
    subprocess.run(command, env=environment, cwd=release.home, check=True, timeout=_PATIENCE)


def main(sources: Path, target: Path, commit: str) -> None:
    with tempfile.TemporaryDirectory(prefix="ibi-store-") as place:
        home, other = Path(place, "kept"), Path(place, "peer")
        home.mkdir()
        other.mkdir()
        release = Release(sources.resolve(), home, home / "data")
        facts = make_full_directory(release, Release(sources.resolve(), other, other / "data"))
        expected = {"commit": commit, **facts}
        (home / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")
        release("backup", str(home / "backup"))
        pack(home, target, ("expected.json", "data", "backup"))
    print(f"{target}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
