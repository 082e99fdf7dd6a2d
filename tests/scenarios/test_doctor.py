"""`ibi doctor` finds each fault of a list, changes nothing, and finds nothing where nothing is wrong."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import sqlite3
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from ibi.command import main
from ibi.doctor import databases, records
from ibi.doctor.configuration import check_clone_guard, check_copy_holders
from ibi.doctor.databases import check_databases, path_of
from ibi.doctor.diagnosis import Diagnosis, ExaminedDirectory, Level, diagnose
from ibi.items.model.content import Damage, Problem
from ibi.items.store.catalogue.integrity import SqliteIntegrity
from ibi.jobs.failing_job import FailingJob
from ibi.jobs.failing_jobs_file import FailingJobsFile
from ibi.membership.model.membership import ResolverStanding
from ibi.membership.model.registration import FailedContact, Registration
from ibi.membership.rules.signed_register import ListedArchive, register_entries, sign_register
from ibi.membership.store.archive_state import ArchiveRecordFile
from ibi.membership.store.copy_holders import CopyHoldersFile
from ibi.membership.store.key_files import RESOLVER, KeyFiles, PublishedRegisterFile, RegisterFiles, ResolverKeyFile
from ibi.membership.store.registry import SqliteRegistry
from ibi.settings import load_settings
from ibi.standard.instant import Instant
from ibi.standard.label import RepositoryName
from ibi.standard.messages.holders import CopyHolder
from ibi.standard.signing import SigningKey
from ibi.storage.connection import KINDS, DatabaseKind
from ibi.storage.directory_record import note_key, noted_key
from ibi.transfers.model import OpenItem, OpenProblem
from ibi.transfers.store.transfers import SqliteTransferLedger
from tests.scenarios.test_read_only_copy import contents
from tests.support.damage import WAYS, remove_logs
from tests.support.deposit_samples import labels
from tests.support.ibi_command import IbiCommand, Outcome

LONG_AGO = 1_600_000_000
NAMED = {"IBI_MINT_HOST": "lab.example", "IBI_MINT_IP": "192.0.2.10", "IBI_MINT_SANDBOX": "true"}


@dataclass(frozen=True)
class Examined:
    """What the command said of a directory."""

    code: int
    found: list[dict[str, Any]]
    """Errors and warnings."""
    advice: list[dict[str, Any]]
    summary: dict[str, int]

    @property
    def checks(self) -> set[str]:
        return {each["check"] for each in self.found}


def examine(ibi: IbiCommand, *arguments: str, **variables: str) -> Examined:
    return examined(ibi("doctor", "--json", *arguments, **variables))


def examined(done: Outcome) -> Examined:
    assert done.err == "", done
    *told, summary = map(json.loads, done.out.splitlines())
    of_level = {level: [each for each in told if each["level"] == level] for level in ("error", "warning", "advice")}
    assert summary == {f"{level}s".replace("advices", "advice"): len(each) for level, each in of_level.items()}
    found = [each for each in told if each["level"] != "advice"]
    assert done.code == (1 if found else 0)
    return Examined(done.code, found, of_level["advice"], summary)


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of a data directory whose server has run, with items, tokens, people and a register."""
    ibi = IbiCommand(tmp_path_factory.mktemp("healthy"))
    (ibi.home / "a.txt").write_text("content")
    assert ibi("archive", "init", **NAMED).code == 0
    for title in ("One", "Two"):
        assert ibi("deposit", "a.txt", "--title", title, **NAMED).code == 0
    assert ibi("token", "create", "--scope", "read").code == 0
    assert ibi("person", "create", "ana", "--role", "librarian").code == 0
    assert ibi("collection", "create", "theses", "--title", "Theses").code == 0
    with ibi.up(**NAMED):
        running = examine(ibi)
    assert (running.code, running.found) == (0, [])
    assert ibi("webhook", "add", "http://127.0.0.1:9/hook", **NAMED).code == 0
    return ibi.home


@pytest.fixture
def ibi(healthy: Path, tmp_path: Path) -> IbiCommand:
    """The command on a copy of it."""
    shutil.copytree(healthy / "ibi-data", tmp_path / "ibi-data")
    return IbiCommand(tmp_path)


def test_nothing_is_found_where_nothing_is_wrong_and_nothing_is_changed(ibi: IbiCommand) -> None:
    before = contents(ibi.data)
    for arguments in ((), ("--full",), ("--offline",)):
        done = examine(ibi, *arguments)
        assert (done.code, done.summary) == (0, {"errors": 0, "warnings": 0, "advice": 1}), (arguments, done.found)
        assert [each["check"] for each in done.advice] == ["content-host"]
    assert contents(ibi.data) == before
    told = ibi("doctor")
    assert told.code == 0
    first, last = told.out.splitlines()
    assert first.startswith("advice   content-host  the settings: content_url is not set")
    assert last == "Nothing is wrong with ibi-data; 1 piece of advice."
    advised = ibi("doctor", IBI_CONTENT_URL="http://localhost:8765")
    assert (advised.code, advised.out) == (0, "Nothing is wrong with ibi-data.\n")


# --- faults ----------------------------------------------------------------------------------------------------------


def an_object(data: Path) -> Path:
    """The directory of the newest item, which is not the Archive's own."""
    return max(path.parent for path in data.glob("store/*/*/*/*/inventory.json"))


def in_database(data: Path, name: str, *statements: str) -> None:
    path = data / name
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    remove_logs(path)


def damaged(name: str, way: str) -> Callable[[Path], None]:
    def damage(data: Path) -> None:
        remove_logs(data / name)
        WAYS[way](data / name, data / "usage.sqlite")

    return damage


def rewritten(name: str, old: str, new: str) -> Callable[[Path], None]:
    def rewrite(data: Path) -> None:
        text = (data / name).read_text()
        assert old in text
        (data / name).write_text(text.replace(old, new))

    return rewrite


def with_settings(text: str, mode: int = 0o600) -> Callable[[Path], None]:
    def write(data: Path) -> None:
        (data / "ibi.toml").write_text(text)
        (data / "ibi.toml").chmod(mode)

    return write


def of_another_user(data: Path) -> None:
    if os.getuid() != 0:
        pytest.skip("only root gives files to other users")
    os.chown(data / "catalogue.sqlite", 12345, 12345)


def old(path: Path) -> None:
    os.utime(path, (LONG_AGO, LONG_AGO))


def pipe_for_database(data: Path) -> None:
    (data / "usage.sqlite").unlink()
    os.mkfifo(data / "usage.sqlite", 0o600)


def open_locks(data: Path) -> None:
    (data.parent / "locks").mkdir()
    (data.parent / "locks").chmod(0o777)


def broken_draft(data: Path) -> None:
    folder = data / "drafts" / "draft-v6ciiqd35hqdlhrn"
    folder.mkdir(parents=True)
    old(folder)


def left_over(data: Path) -> None:
    path = data / f".archive.json.{'0' * 16}"
    path.touch(0o600)
    old(path)


def flipped_byte(data: Path) -> None:
    (path,) = an_object(data).glob("**/a.txt")
    path.chmod(0o600)
    path.write_text("c0ntent")


def noted_damage(data: Path) -> None:
    name = str(an_object(data).relative_to(data / "store"))
    with closing(SqliteIntegrity(data / "catalogue.sqlite")) as ledger:
        ledger.note_damage(name, Problem(Damage.DAMAGED, "E092", "v1/content/doc/a.txt", "another digest"), LONG_AGO)


def old_verification(data: Path) -> None:
    with closing(SqliteIntegrity(data / "catalogue.sqlite")) as ledger:
        ledger.record(str(an_object(data).relative_to(data / "store")), (), LONG_AGO)


def unreached_archive(data: Path) -> None:
    with closing(SqliteRegistry(data)) as registry:
        failed = FailedContact("connection-refused", Instant(LONG_AGO))
        registry.put(Registration(labels(7), "hash", Instant(LONG_AGO), failed=failed))


def refused_by_resolver(data: Path) -> None:
    with_settings(
        "resolver = 'http://127.0.0.1:9'\n"
        "[archive]\nregistration_key = '1234567890'\nadmin_email = 'a@lab.example'\nip = '192.0.2.10'\n"
    )(data)
    said = {"phase": "including", "confirmed": False, "known": False}
    reason = "its key is not the one that was registered"
    (data / "membership").mkdir(exist_ok=True)
    (data / "membership" / "state.json").write_text(json.dumps({**said, "reason": reason}))


def unlisted_item(data: Path) -> None:
    """As after an object was put into the store by hand."""
    in_database(
        data,
        "catalogue.sqlite",
        "DELETE FROM items WHERE number = (SELECT max(number) FROM items)",
        "UPDATE standing SET items = items - 1",
    )
    path = data / "store" / "ibi-generation.json"
    said = json.loads(path.read_text())
    for state in ("before", "after"):
        said[state]["items"] -= 1
    path.write_text(json.dumps(said).ljust(383) + "\n")


def plant_doubt(data: Path) -> None:
    with closing(SqliteTransferLedger(data, data.parent / "locks")) as ledger:
        ledger.note_unheard(["http://resolver.example"])


def plant_open_item(data: Path) -> None:
    rep = RepositoryName.parse("lab.br/arq/2020/01.01.00.00")
    item = OpenItem(rep, OpenProblem.NOT_FETCHED, "b.br/arq/2020/01.01.00.00", "none has it", ("http://b.br: silent",))
    with closing(SqliteTransferLedger(data, data.parent / "locks")) as ledger:
        ledger.change_open(rep, lambda _known: item)


def with_key_of_another(name: str, *, is_noted: bool = False) -> Callable[[Path], None]:
    """A key file that another directory has made; with `is_noted`, its note came along."""

    def copy(data: Path) -> None:
        other = data.parent / "other"
        KeyFiles(other, name).signing_key()
        (data / "keys").mkdir(0o700, exist_ok=True)
        shutil.copy(other / "keys" / f"{name}.pem", data / "keys")
        if is_noted:
            note_key(data, name, noted_key(other, name) or "")
        shutil.rmtree(other)

    return copy


def keep_register(data: Path, *known: Registration) -> None:
    """The register of a resolver, as an Archive keeps it."""
    entries = register_entries(map(ListedArchive.of_registration, known))
    RegisterFiles(data).write(sign_register(entries, "http://127.0.0.1:9", LONG_AGO, SigningKey(b"r" * 32)))


def registered_with_other_key(data: Path) -> None:
    """The key came with its note, and the resolver has signed which one it was."""
    record = ArchiveRecordFile(data).read()
    assert record is not None
    own = KeyFiles(data).signing_key().public
    keep_register(data, Registration(record.service, "hash", Instant(LONG_AGO), key=own))
    with_key_of_another("archive", is_noted=True)(data)


def resolver_with_key_of_another(data: Path) -> None:
    entries = register_entries([ListedArchive.of_registration(Registration(labels(7), "hash", Instant(LONG_AGO)))])
    key = KeyFiles(data, RESOLVER).signing_key()
    PublishedRegisterFile(data).change(lambda _: sign_register(entries, "http://127.0.0.1:9", LONG_AGO, key))
    with_key_of_another("resolver", is_noted=True)(data)


def stray_file(data: Path) -> None:
    (next(an_object(data).glob("v*/content")) / "note.txt").write_text("who am I")


def named_holder(data: Path) -> None:
    with_settings(
        f"resolver = 'http://127.0.0.1:9'\n[archive]\nregistration_key = '1234567890'\nadmin_email = 'a@lab.example'\n"
        f"ip = '192.0.2.10'\ncopies_at = '{labels(7).labels[0]} {labels(8).labels[0]}'\n"
    )(data)
    keep_register(data, Registration(labels(7), "hash", Instant(LONG_AGO)))


def named_by_command(data: Path) -> None:
    named_holder(data)
    CopyHoldersFile(data).change(
        lambda known: known.name(CopyHolder(labels(7).labels[0])).name(CopyHolder(labels(9).labels[0]))
    )


def stand_in(data: Path) -> None:
    RegisterFiles(data).note_standing(ResolverStanding.OTHER_KEY)


def not_a_sandbox(data: Path) -> None:
    in_database(data, "mint/ticks.sqlite", "UPDATE clock SET sandbox = 0")


@dataclass(frozen=True)
class PlantedFault:
    plant: Callable[[Path], object]
    check: str
    place: str
    """What the place ends with."""
    words: str
    """What is said, or what to do."""
    arguments: tuple[str, ...] = ()
    variables: dict[str, str] = field(default_factory=dict)
    level: str = ""
    """The level that it is told at, if the fault tests that."""


FAULTS: dict[str, PlantedFault] = {
    "key of another Archive": PlantedFault(
        with_key_of_another("archive"), "key-of-another", "archive.pem", "by directory.json, ", level="error"
    ),
    "key of another Archive, with its note": PlantedFault(
        registered_with_other_key, "key-of-another", "archive.pem", "by the register of its resolver, ", level="error"
    ),
    "key of another resolver": PlantedFault(
        resolver_with_key_of_another, "key-of-another", "resolver.pem", "it published last, ", level="error"
    ),
    "stray file in an object": PlantedFault(
        stray_file, "stray-file", "note.txt", "no inventory names it", level="error"
    ),
    "stray file in an object, looked at in full": PlantedFault(
        stray_file, "stray-file", "note.txt", "no inventory names it", ("--full",), level="error"
    ),
    "stray directory in an object": PlantedFault(
        lambda data: (an_object(data) / "v7").mkdir(), "stray-file", "v7", "no version of the inventory", level="error"
    ),
    "rows of tokens gone": PlantedFault(
        lambda data: in_database(data, "state.sqlite", "DELETE FROM tokens"),
        *("database-emptied", "state.sqlite", "its table tokens is empty"),
        level="error",
    ),
    "rows of people gone": PlantedFault(
        lambda data: in_database(data, "state.sqlite", "DELETE FROM people"),
        *("database-emptied", "state.sqlite", "ibi rebuild --empty people"),
        level="error",
    ),
    "rows of webhooks gone": PlantedFault(
        lambda data: in_database(data, "state.sqlite", "DELETE FROM webhooks"),
        *("database-emptied", "state.sqlite", "ibi rebuild --empty"),
        level="error",
    ),
    "rows of collections gone": PlantedFault(
        lambda data: in_database(data, "state.sqlite", "DELETE FROM collection_members", "DELETE FROM collections"),
        *("database-emptied", "state.sqlite", "its table collections is empty"),
        level="error",
    ),
    "rows of the minter gone": PlantedFault(
        lambda data: in_database(data, "mint/ticks.sqlite", "DELETE FROM store"),
        *("database-emptied", "ticks.sqlite", "mint.log"),
        level="error",
    ),
    "rows of the catalogue gone": PlantedFault(
        lambda data: in_database(data, "catalogue.sqlite", "DELETE FROM items"),
        *("catalogue-behind", "catalogue.sqlite", "ibi rebuild"),
        level="error",
    ),
    "holder of Copies unknown": PlantedFault(
        named_holder, "copies-at-unknown", "ibi.toml", f"names {labels(8).labels[0]}, and", level="warning"
    ),
    "holder of Copies that a command named unknown": PlantedFault(
        *(named_by_command, "copies-at-unknown", "copy-holders.json", f"names {labels(9).labels[0]}, and"),
        level="warning",
    ),
    "proxies of all addresses": PlantedFault(
        with_settings("trusted_proxies = '0.0.0.0/0'\n"), "proxies-open", "ibi.toml", "every IPv4", level="warning"
    ),
    "proxies of all IPv6 addresses": PlantedFault(
        with_settings("trusted_proxies = '10.0.0.0/8 ::/0'\n"),
        "proxies-open",
        "ibi.toml",
        "every IPv6",
        level="warning",
    ),
    "proxies of all addresses in parts": PlantedFault(
        with_settings("trusted_proxies = '0.0.0.0/1 192.0.0.0/2 128.0.0.0/2'\n"),
        *("proxies-open", "ibi.toml", "every IPv4"),
        level="warning",
    ),
    "public address on loopback of a real Archive": PlantedFault(
        not_a_sandbox,
        *("clone-guard-off", "http://127.0.0.1:8765", "lab.example is no sandbox"),
        variables={"IBI_PUBLIC_URL": "http://127.0.0.1:8765"},
        level="warning",
    ),
    "no host of its own for files": PlantedFault(
        lambda data: None, "content-host", "the settings", "docs/operations.md", level="advice"
    ),
    "server that stands in for its resolver": PlantedFault(
        stand_in,
        *("resolver-replaced", "http://127.0.0.1:9", "as a server last noted, the server at the address of the"),
        variables={"IBI_RESOLVER": "http://127.0.0.1:9"},
        level="warning",
    ),
    "resolver that a sandbox is not registered at": PlantedFault(
        lambda data: None,
        *("resolver-without-key", "http://127.0.0.1:9", "archive.registration_key is not set"),
        variables={"IBI_RESOLVER": "http://127.0.0.1:9"},
        level="advice",
    ),
    "resolver that signs nothing": PlantedFault(
        with_settings(
            "resolver = 'http://127.0.0.1:9'\n"
            "[archive]\nregistration_key = '1234567890'\nadmin_email = 'a@lab.example'\nip = '192.0.2.10'\n"
        ),
        *("resolver-without-key", "http://127.0.0.1:9", "no public key of this resolver is known"),
        level="advice",
    ),
    "archive.json is gone": PlantedFault(
        lambda data: (data / "archive.json").unlink(), "archive-record-lost", "archive.json", "archive init --recover"
    ),
    "archive.json is garbage": PlantedFault(
        lambda data: (data / "archive.json").write_text("{"), "archive-record-damaged", "archive.json", "a backup"
    ),
    "key open to others": PlantedFault(
        lambda data: (data / "keys/archive.pem").chmod(0o644), "secret-open", "keys/archive.pem", "chmod go= "
    ),
    "key damaged": PlantedFault(
        lambda data: (data / "keys/archive.pem").write_text("x"), "key-damaged", "archive.pem", "ibi key replace"
    ),
    "key gone": PlantedFault(
        lambda data: (data / "keys/archive.pem").unlink(), "key-lost", "archive.pem", "Put keys/ back from a backup"
    ),
    "folder of keys gone": PlantedFault(
        lambda data: shutil.rmtree(data / "keys"), "key-lost", "archive.pem", "`ibi key replace --lost`"
    ),
    "others not heard after a restore": PlantedFault(
        plant_doubt, "in-doubt", "ibi-data", "http://resolver.example did not say yet", (), {}
    ),
    "Original that is not where its releases say": PlantedFault(
        plant_open_item, "transfer-open", "lab.br/arq/2020/01.01.00.00", "asked: http://b.br: silent", (), {}
    ),
    "database of tokens open to others": PlantedFault(
        lambda data: (data / "state.sqlite").chmod(0o640), "secret-open", "state.sqlite", "(mode 640)"
    ),
    "file of another user": PlantedFault(of_another_user, "other-owner", "catalogue.sqlite", "`chown -R "),
    "file that its owner cannot read": PlantedFault(
        lambda data: (an_object(data) / "inventory.json").chmod(0), "unreadable", "inventory.json", "chmod -R u+rwX"
    ),
    "database that its owner cannot write": PlantedFault(
        lambda data: (data / "usage.sqlite").chmod(0o400), "unwritable", "usage.sqlite", "chmod -R u+rwX"
    ),
    "directory that all may write": PlantedFault(
        lambda data: (data / "store").chmod(0o777), "open-to-change", "store", "chmod -R o-w"
    ),
    "clock behind the last label": PlantedFault(
        lambda data: in_database(data, "mint/ticks.sqlite", "UPDATE clock SET last = '2999-01-01T00:00:00Z'"),
        *("clock-behind", "mint", "Set the clock (NTP)"),
    ),
    "mint log cut": PlantedFault(
        lambda data: os.truncate(data / "mint/mint.log", 100), "mint-log-broken", "mint.log", "Put the log back"
    ),
    "mint log gone": PlantedFault(
        lambda data: (data / "mint/mint.log").unlink(), "mint-log-broken", "mint.log", "gone or empty"
    ),
    "line of the mint log changed": PlantedFault(
        rewritten("mint/mint.log", '"mint"', '"mind"'), "mint-log-broken", "mint.log", "Put the log back"
    ),
    "database written later than now": PlantedFault(
        lambda data: os.utime(data / "usage.sqlite", (2**32, 2**32)), "date-ahead", "usage.sqlite", "2106-02-07"
    ),
    "mint log and its database gone": PlantedFault(
        lambda data: shutil.rmtree(data / "mint"), "mint-log-lost", "mint.log", "ibi mint --accept-loss"
    ),
    "directory of another machine": PlantedFault(
        lambda data: in_database(data, "mint/ticks.sqlite", "UPDATE store SET machine = 'another'"),
        *("data-directory-copied", "ibi-data", "ibi mint --accept-copy"),
    ),
    "identity changed in the settings": PlantedFault(
        lambda data: None, "sandbox-is-final", "ibi-data", "and stays one", variables={"IBI_MINT_HOST": "other.example"}
    ),
    "state gone": PlantedFault(
        damaged("state.sqlite", "deleted"), "database", "state.sqlite", "ibi rebuild --empty state"
    ),
    "state emptied": PlantedFault(damaged("state.sqlite", "emptied"), "database", "state.sqlite", "state-copies/"),
    "catalogue damaged": PlantedFault(
        damaged("catalogue.sqlite", "middle page"), "database", "catalogue.sqlite", "cannot be used"
    ),
    "ticks damaged": PlantedFault(damaged("mint/ticks.sqlite", "halved"), "database", "ticks.sqlite", "Move it away"),
    "state replaced by another database": PlantedFault(
        damaged("state.sqlite", "another"), "database", "state.sqlite", "usage.sqlite under another name"
    ),
    "database of a later version": PlantedFault(
        lambda data: in_database(data, "catalogue.sqlite", "PRAGMA user_version = 99"),
        *("database", "catalogue.sqlite", "written by a newer version"),
    ),
    "catalogue gone": PlantedFault(
        damaged("catalogue.sqlite", "deleted"), "catalogue-behind", "catalogue.sqlite", "ibi rebuild"
    ),
    "catalogue older than the store": PlantedFault(
        lambda data: in_database(data, "catalogue.sqlite", "UPDATE standing SET changes = changes - 1"),
        *("catalogue-behind", "catalogue.sqlite", "ibi rebuild"),
    ),
    "item that is not listed": PlantedFault(unlisted_item, "catalogue-behind", "catalogue.sqlite", "ibi rebuild"),
    "item gone": PlantedFault(lambda data: shutil.rmtree(an_object(data)), "item-lost", "store", "lab/"),
    "store gone": PlantedFault(lambda data: shutil.rmtree(data / "store"), "store-lost", "store", "Mount its disk"),
    "store of a later version": PlantedFault(
        lambda data: (data / "ibi-store.json").write_text('{"version": 9}'), "store", "store", "newer version"
    ),
    "declaration of the store gone": PlantedFault(
        lambda data: (data / "store" / "0=ocfl_1.1").unlink(), "store", "store", "make it again with the one line"
    ),
    "file in the place of a directory": PlantedFault(
        lambda data: (data / "copies").write_text(""), "wrong-kind", "copies", "should be a directory"
    ),
    "document gone": PlantedFault(
        lambda data: next(an_object(data).glob("**/a.txt")).unlink(), "item-damaged", "", "a file of it is gone"
    ),
    "inventory damaged": PlantedFault(
        lambda data: (an_object(data) / "inventory.json").write_text("{}"),
        "item-damaged",
        "",
        "ibi verify example/lab/",
    ),
    "byte of a document changed": PlantedFault(
        flipped_byte, "item-damaged", "", "ibi verify example/lab/", ("--full",)
    ),
    "damage that a reader met": PlantedFault(noted_damage, "item-damaged", "", "another digest"),
    "verification long ago": PlantedFault(old_verification, "fixity-old", "store", "ibi verify"),
    "link inside the store": PlantedFault(
        lambda data: (an_object(data) / "etc").symlink_to("/etc"), "link", "etc", "symbolic link to /etc"
    ),
    "link of the store that leads nowhere": PlantedFault(
        lambda data: (data / "dumps").symlink_to("/nowhere/dumps"), "link", "dumps", "where nothing is"
    ),
    "pipe in the store": PlantedFault(
        lambda data: os.mkfifo(data / "store" / "pipe", 0o600), "special-file", "pipe", "Remove it"
    ),
    "pipe in the place of a database": PlantedFault(
        pipe_for_database, "special-file", "usage.sqlite", "The rest is looked at when it is gone"
    ),
    "file of a crash": PlantedFault(left_over, "left-over", "0" * 16, "Remove it"),
    "database set aside": PlantedFault(
        lambda data: (data / "usage.sqlite.damaged-2026-01-01-1").touch(0o600), "set-aside", "-1", "backup"
    ),
    "draft without a record": PlantedFault(broken_draft, "draft-broken", "draft-v6ciiqd35hqdlhrn", "no record"),
    "setting unknown": PlantedFault(
        with_settings("publicurl = 'x'\n"), "settings", "ibi-data", "did you mean public_url"
    ),
    "settings malformed": PlantedFault(with_settings("= 1\n"), "settings", "ibi-data", "not a TOML file"),
    "settings a pipe": PlantedFault(
        lambda data: os.mkfifo(data / "ibi.toml", 0o600), "settings", "ibi.toml", "not a plain file"
    ),
    "mail without a sender": PlantedFault(
        with_settings("[mail]\nserver = 'mail.example'\n"), "mail-incomplete", "ibi.toml", "mail.sender"
    ),
    "key without a resolver": PlantedFault(
        with_settings("[archive]\nregistration_key = '1234567890'\n"), "settings", "ibi.toml", "resolver is not"
    ),
    "secret in open settings": PlantedFault(
        with_settings("[archive]\nregistration_key = '1234567890'\n", 0o644), "secret-open", "ibi.toml", "chmod o="
    ),
    "variable misspelled": PlantedFault(
        lambda data: None, "settings", "the environment", "IBI_PUBLIC_URL", variables={"IBI_PUBLIC_URI": "http://x"}
    ),
    "disk nearly full": PlantedFault(
        lambda data: None, "disk-full", "ibi-data", "Make room", variables={"IBI_ARCHIVE_DISK_RESERVE": "900000 TB"}
    ),
    "locks that others may remove": PlantedFault(open_locks, "lock-directory", "locks", "chmod +t"),
    "audit log changed": PlantedFault(rewritten("audit/audit.log", "publish", "x"), "audit", "audit", "audit log"),
    "Archive not reached": PlantedFault(unreached_archive, "archive-not-reached", "", "the connection was refused"),
    "Archive refused by its resolver": PlantedFault(
        refused_by_resolver, "resolver-refused", "http://127.0.0.1:9", "its key is not the one that was registered"
    ),
    "source of a follow silent": PlantedFault(
        lambda data: in_database(
            data,
            "state.sqlite",
            "INSERT INTO follows (id, kind, text, source, by_operator, created, failing, reason)"
            " VALUES ('f1', 'archive', '', 'http://127.0.0.1:9', 1, 1, 1, 'the connection was refused')",
        ),
        *("follow-failing", "follow f1", "ibi follow remove"),
    ),
    "background job that fails": PlantedFault(
        lambda data: FailingJobsFile(data).put(
            FailingJob("texts", int(time.time()) - 60, int(time.time()), 7, "DiskRefused: no\nroom"),
        ),
        *("job-failing", "failing-jobs.json", "the background job texts failed when a server last ran, since "),
        level="warning",
    ),
    "holders of Copies damaged": PlantedFault(
        lambda data: (data / "copy-holders.json").write_text('{"named": ["no label"]}'),
        *("copy-holders", "copy-holders.json", "ibi archive holders add"),
    ),
    "webhook not delivered": PlantedFault(
        lambda data: in_database(data, "state.sqlite", "UPDATE webhooks SET failing = 1, reason = 'refused'"),
        *("webhook-failing", "", "ibi webhook enable"),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_planted_fault_is_found_and_nothing_is_changed(
    ibi: IbiCommand, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fault = FAULTS[name]
    fault.plant(ibi.data)
    before = contents(ibi.data)
    for variable, value in {"IBI_LOCK_DIR": str(ibi.home / "locks"), **fault.variables}.items():
        monkeypatch.setenv(variable, value)
    with pytest.raises(SystemExit) as ended:  # in this process, as there are so many
        main(["doctor", "--json", "--offline", *fault.arguments, "--data", str(ibi.data)])
    said_at_once = capsys.readouterr()
    done = examined(Outcome(int(ended.value.code or 0), said_at_once.out, said_at_once.err))
    found = [each for each in (*done.found, *done.advice) if each["check"] == fault.check]
    assert found, done.found
    assert done.code == (0 if fault.level == "advice" else 1), done.found
    assert fault.level in {"", *(each["level"] for each in found)}
    said = [f"{each['place']}: {each['what']}. {each['remedy']}" for each in found]
    assert any(each["place"].rstrip("/").endswith(fault.place) for each in found), said
    assert any(fault.words in each for each in said), said
    assert all(each.count("\n") == 0 and "Traceback" not in each and "1234567890" not in each for each in said)
    assert not [each for each in done.found if "could not be looked at" in each["what"]], done.found
    assert contents(ibi.data) == before


@pytest.mark.parametrize("way", ["emptied", "blank"])
@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda kind: kind.file_name)
def test_a_database_that_was_emptied_is_an_error_whichever_it_is(ibi: IbiCommand, kind: DatabaseKind, way: str) -> None:
    settings = load_settings({"data": str(ibi.data)}, {})
    place = path_of(ExaminedDirectory(settings), kind)
    damaged(str(place.relative_to(ibi.data)), way)(ibi.data)
    (found,) = diagnose(ExaminedDirectory(settings), [check_databases])
    assert (found.check, found.place, found.level) == ("database", str(place), "error")
    assert "it is empty" in found.what


def test_rows_that_were_removed_on_purpose_are_not_missed(ibi: IbiCommand) -> None:
    """Also those of a database that was begun anew: the audit log is older than it."""
    (hook,) = (json.loads(line)["id"] for line in ibi("webhook", "list", "--json").out.splitlines())
    assert ibi("webhook", "remove", hook).code == 0
    assert ibi("collection", "remove", "theses").code == 0
    assert ibi("rebuild", "--empty", "accounts").code == 0
    assert examine(ibi, "--offline").found == []


def test_a_key_that_was_replaced_is_no_key_of_another(ibi: IbiCommand) -> None:
    before = noted_key(ibi.data, "archive")
    assert before is not None
    assert ibi("key", "replace").code == 0
    assert noted_key(ibi.data, "archive") != before
    assert examine(ibi, "--offline").found == []
    note_key(ibi.data, "archive", before)  # as after a crash before it was written
    assert examine(ibi, "--offline").found == []


def test_the_first_files_are_looked_at_for_strays_and_all_with_full(
    ibi: IbiCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = load_settings({"data": str(ibi.data)}, {})
    monkeypatch.setattr(databases, "MOST_LOOKED_AT", 1)
    last = ExaminedDirectory(settings).item_names[-1]
    (ibi.data / "store" / last / "v1" / "note.txt").touch()
    assert list(diagnose(ExaminedDirectory(settings), [databases.check_strays])) == []
    (found,) = diagnose(ExaminedDirectory(settings, is_full=True), [databases.check_strays])
    assert found.place == str(ibi.data / "store" / last / "v1" / "note.txt")


@pytest.mark.parametrize("networks", ["10.0.0.0/8 fd00::/8", "0.0.0.0/1 128.0.0.0/2", "::1/128"])
def test_proxies_of_some_addresses_are_fine(ibi: IbiCommand, networks: str) -> None:
    assert examine(ibi, "--offline", IBI_TRUSTED_PROXIES=networks).found == []


def test_a_holder_of_copies_that_is_registered_is_fine(ibi: IbiCommand) -> None:
    named_holder(ibi.data)
    known = [Registration(labels(number), "hash", Instant(LONG_AGO)) for number in (7, 8)]
    keep_register(ibi.data, *known)
    assert examine(ibi, "--offline").found == []
    (ibi.data / "membership" / "register.jws").unlink()  # nothing is known of any
    (found,) = check_copy_holders(ExaminedDirectory(load_settings({"data": str(ibi.data)}, {})))
    assert (found.level, "could say whether" in found.what) == (Level.ADVICE, True)
    assert examine(ibi, "--offline").code == 0


def test_a_sandbox_on_loopback_needs_no_guard(ibi: IbiCommand) -> None:
    done = examine(ibi, "--offline", IBI_PUBLIC_URL="http://127.0.0.1:8765")
    assert done.found == []
    not_a_sandbox(ibi.data)
    assert examine(ibi, "--offline", IBI_PUBLIC_URL="https://ids.lab.example").found == []


@pytest.mark.parametrize("url", ["http://0.0.0.0:8765", "http://[::]", "http://ids.localhost", "http://ids.localhost."])
def test_an_address_that_leads_each_machine_to_itself_is_none_for_a_real_archive(ibi: IbiCommand, url: str) -> None:
    not_a_sandbox(ibi.data)
    found = list(check_clone_guard(ExaminedDirectory(load_settings({"data": str(ibi.data), "public_url": url}, {}))))
    assert [(each.check, each.level) for each in found] == [("clone-guard-off", Level.WARNING)]


def test_a_lock_of_the_minter_that_is_not_let_go_is_told(ibi: IbiCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "_LONG_HELD", 0.1)
    settings = load_settings({"data": str(ibi.data)}, {})
    with (ibi.data / "mint" / "lock").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        (found,) = diagnose(ExaminedDirectory(settings), [records.check_minter])
        fcntl.flock(held, fcntl.LOCK_UN)
    assert (found.check, found.place) == ("lock-held", str(ibi.data / "mint" / "lock"))
    assert list(diagnose(ExaminedDirectory(settings), [records.check_minter])) == []


def test_a_directory_of_something_else_is_left_alone(tmp_path: Path) -> None:
    ibi = IbiCommand(tmp_path)
    ibi.data.mkdir()
    assert examine(ibi).found == []
    (ibi.data / "secret.txt").touch(0o777)
    assert examine(ibi).checks == {"not-a-data-directory"}


def test_where_the_store_is_empty_no_rebuild_is_advised(ibi: IbiCommand) -> None:
    shutil.rmtree(ibi.data / "store")
    (ibi.data / "store").mkdir(0o700)
    done = examine(ibi, "--offline", "--full")
    assert done.checks == {"store-lost", "item-lost"}
    assert all("Mount its disk" in each["remedy"] for each in done.found)


def test_what_a_check_cannot_look_at_is_told_and_the_others_go_on(ibi: IbiCommand) -> None:
    def check_weather(_: ExaminedDirectory) -> Iterator[Diagnosis]:
        raise RecursionError("it rains")

    settings = load_settings({"data": str(ibi.data)}, {})
    first, second = diagnose(ExaminedDirectory(settings), [check_weather, check_weather])
    assert (first, first.check) == (second, "weather")
    assert "RecursionError: it rains" in str(first)


def test_a_disk_without_room_for_files_is_told(healthy: Path, tmp_path: Path) -> None:
    script = 'mount -t tmpfs -o size=200m,nr_inodes=2000 none "$0" && cp -a "$1" "$0" && shift && exec "$@"'
    disk, program = tmp_path / "disk", [sys.executable, "-c", "from ibi.command import main; main()"]
    disk.mkdir()
    arguments = ["doctor", "--json", "--offline", "--data", str(disk / "ibi-data")]
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, str(disk), str(healthy / "ibi-data"), *program, *arguments],
        env=IbiCommand(tmp_path).environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if "denied" in done.stderr or "not permitted" in done.stderr:
        pytest.skip("no disk can be mounted here")
    checks = examined(Outcome(done.returncode, done.stdout, done.stderr)).checks
    assert checks == {"disk-full"}


# --- servers ---------------------------------------------------------------------------------------------------------


class Answering(BaseHTTPRequestHandler):
    """Answers every question with one document, at one time of day."""

    document: dict[str, object] = {}  # noqa: RUF012
    ahead = 0.0
    media_type = "application/json"

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", self.media_type)
        self.end_headers()
        self.wfile.write(json.dumps(self.document).encode())

    def date_time_string(self, timestamp: float | None = None) -> str:
        return super().date_time_string((timestamp or time.time()) + self.ahead)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def answering(
    tls: ssl.SSLContext | None = None,
    *,
    ahead: float = 0.0,
    media_type: str = "application/json",
    **document: object,
) -> Iterator[int]:
    """The port of such a server."""
    handler = type("Handler", (Answering,), {"document": document, "ahead": ahead, "media_type": media_type})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def certificate(folder: Path, days: int) -> Path:
    """A key and a certificate for this machine that ends so soon, in one file."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=9))
        .not_valid_after(now + timedelta(days=days, hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    kept = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "tls.pem").write_bytes(kept + made.public_bytes(Encoding.PEM))
    return folder / "tls.pem"


def test_a_public_address_that_leads_to_another_server_is_told(ibi: IbiCommand) -> None:
    with answering(prefixes={"rep": "other/lab"}, instance="another") as port:
        elsewhere = examine(ibi, IBI_PUBLIC_URL=f"http://127.0.0.1:{port}")
    assert elsewhere.checks == {"address-elsewhere"}
    with answering(prefixes={"rep": "example/lab"}, instance="another") as port:
        copy = examine(ibi, IBI_PUBLIC_URL=f"http://127.0.0.1:{port}")
    assert "mints in the same name" in copy.found[0]["what"]
    silent = examine(ibi, IBI_PUBLIC_URL=f"http://127.0.0.1:{port}")
    assert (silent.code, silent.found) == (0, [])  # no server runs, and none has to answer


def test_a_clock_far_from_that_of_the_resolver_is_told_and_a_resolver_that_is_silent(ibi: IbiCommand) -> None:
    with answering(ahead=-300, media_type="text/plain") as port:
        apart = examine(ibi, IBI_RESOLVER=f"http://127.0.0.1:{port}")
    assert apart.checks == {"clock-apart"}
    assert re.search(r"(299|30\d) s ahead of", apart.found[0]["what"])
    assert examine(ibi, IBI_RESOLVER=f"http://127.0.0.1:{port}").checks == {"resolver-silent"}


def test_a_server_that_took_the_place_of_the_resolver_is_told(ibi: IbiCommand, tmp_path: Path) -> None:
    other = IbiCommand(tmp_path / "resolver")
    other.home.mkdir()
    with other.up() as (_, url):
        own = KeyFiles(other.data, RESOLVER).signing_key().public
        ResolverKeyFile(ibi.data).keep(url, own)
        assert examine(ibi, IBI_RESOLVER=url).found == []
        ResolverKeyFile(ibi.data).keep(url, SigningKey(b"f" * 32).public)
        done = examine(ibi, IBI_RESOLVER=url)
    assert done.checks == {"resolver-replaced"}
    assert str(own) in done.found[0]["what"]


def test_a_clock_far_from_that_of_the_public_address_is_told(ibi: IbiCommand) -> None:
    with answering(ahead=300) as port:
        apart = examine(ibi, IBI_PUBLIC_URL=f"http://127.0.0.1:{port}")
    (found,) = (each["what"] for each in apart.found if each["check"] == "clock-apart")
    assert re.search(r"(300|29\d) s behind", found)


def test_a_server_that_is_no_resolver_is_told_and_one_that_is_not(ibi: IbiCommand, tmp_path: Path) -> None:
    with answering() as port:
        done = examine(ibi, IBI_RESOLVER=f"http://127.0.0.1:{port}")
    assert done.checks == {"resolver-none"}
    other = IbiCommand(tmp_path / "resolver")
    other.home.mkdir()
    with other.up() as (_, url):
        assert examine(ibi, IBI_RESOLVER=url).found == []


@pytest.mark.parametrize(("days", "words"), [(3, "in 3 days"), (-1, "expired"), (90, "")])
def test_a_certificate_near_its_end_is_told(ibi: IbiCommand, days: int, words: str, tmp_path: Path) -> None:
    file = certificate(tmp_path, days)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    with answering(context) as port:
        where = {"IBI_CONTENT_URL": f"https://localhost:{port}", "SSL_CERT_FILE": str(file)}
        done = examine(ibi, **where)
    assert [each["check"] for each in done.found] == (["certificate"] if words else [])
    assert all(words in each["what"] for each in done.found)


def test_a_second_server_and_one_that_takes_nothing_in_are_told(tmp_path: Path) -> None:
    ibi = IbiCommand(tmp_path)
    with ibi.up() as (_, first):
        with ibi.up() as (_, second):
            both = examine(ibi)
            assert both.checks == {"second-server"}
            assert (first in both.found[0]["what"], second in both.found[0]["what"]) == (True, True)
        assert examine(ibi).found == []
        (ibi.data / "state.sqlite").rename(ibi.data / "gone.sqlite")
        refused, deadline = examine(ibi), time.monotonic() + 30
        while "not-ready" not in refused.checks and time.monotonic() < deadline:  # an answer is kept for a second
            refused = examine(ibi)
        assert {"not-ready", "database"} <= refused.checks
        assert any("state.sqlite" in each["place"] for each in refused.found)
        (ibi.data / "gone.sqlite").rename(ibi.data / "state.sqlite")


def test_a_store_on_another_disk_and_a_copy_that_cannot_be_written_are_fine(ibi: IbiCommand) -> None:
    shutil.move(ibi.data / "store", ibi.home / "disk")
    (ibi.data / "store").symlink_to(ibi.home / "disk")
    assert examine(ibi, "--full").found == []
    for path in (ibi.data, *ibi.data.rglob("*")):
        path.chmod(path.stat().st_mode & ~0o222)
    try:
        assert examine(ibi, "--full").found == []
    finally:
        for path in (ibi.data, *ibi.data.rglob("*")):
            path.chmod(path.stat().st_mode | 0o200)


def test_after_a_server_was_killed_there_is_nothing_to_tell_and_nothing_is_changed(tmp_path: Path) -> None:
    ibi = IbiCommand(tmp_path)
    with ibi.up() as (server, _):
        server.kill()
        server.wait(30)
    assert list(ibi.data.glob("*.sqlite-wal"))
    before = contents(ibi.data)
    done = examine(ibi, "--full")
    assert (done.code, done.found) == (0, [])
    assert contents(ibi.data) == before
