"""The port `Registry`, tried on every adapter."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from ibi.membership.model.registration import Inclusion, Registration
from ibi.membership.ports.registry import Registry
from ibi.membership.rules.membership import AlreadyRegistered, PrefixTaken
from ibi.membership.store.registry import SqliteRegistry
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.messages import ArchiveProtocol, LabelForms, ip_address
from ibi.standard.networks import network
from ibi.standard.storage_errors import StoreDamaged
from ibi.storage.columns import label_key
from ibi.storage.connection import STATE
from ibi.storage.earlier_layout import FOLDER
from ibi.storage.errors import DiskRefused, StoreClosed, StoreForked, StoreNewer
from ibi.storage.state import open_state
from tests.support.earlier_databases import open_earlier
from tests.support.memory.registry import MemoryRegistry

NOW = Instant.parse("2026-11-15T12:00:00Z")
REP = parse("sid.inpe.br/mtc-m21/2012/06.05.15.34.39")
BOTH = LabelForms.parse("rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5")
INCLUSION = Inclusion(
    "mtc-m21.sid.inpe.br:8080",
    ip_address("2001:db8::239"),
    ArchiveProtocol.HTTPS,
    "2014:11.09.02.16.15",
    "banon@dpi.inpe.br",
    NOW,
    confirmed=True,
    answered=Instant(NOW.seconds + 60),
)
PENDING = replace(INCLUSION, address="mtc-m22.sid.inpe.br", confirmed=False, answered=None)


def registration(number: int = 0, **others: object) -> Registration:
    service = LabelForms.of(parse(f"example.org/archive{number}/2008/03.17.15.17"))
    return replace(Registration(service, f"$argon2id$hash-{number}", NOW), **others)  # type: ignore[arg-type]


ADAPTERS: dict[str, Callable[[Path], Registry]] = {"memory": lambda _: MemoryRegistry(), "sqlite": SqliteRegistry}


@pytest.fixture(params=ADAPTERS)
def registry(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Registry]:
    store = ADAPTERS[request.param](tmp_path / "data")
    yield store
    store.close()


FULL = Registration(
    BOTH,
    "$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA",
    NOW,
    "admin@example.org",
    frozenset({"cdn.example.org", "files.example.org:8443", "[2001:db8::1]"}),
    (network("10.0.0.0/8"), network("2001:db8::/32")),
    INCLUSION,
    frozenset({"dpi.inpe.br/banon", "8jmkd3mgp8w"}),
    shared=True,
    vouched=True,
    successor=LabelForms.of(REP),
    pending=PENDING,
)


@pytest.mark.parametrize(
    "one",
    [
        FULL,
        replace(FULL, pending=None, successor=None, prefixes=frozenset(), shared=False, vouched=False),
        replace(FULL, service=LabelForms(BOTH.rep), waiting=BOTH.ibip),
        replace(FULL, inclusion=None, pending=None),
        replace(FULL, inclusion=replace(INCLUSION, confirmed=False)),
        replace(FULL, admin_mail=None, hosts=frozenset(), networks=()),
        registration(key_hash="'; DROP TABLE registrations; --"),
    ],
)
def test_a_registration_comes_back_as_it_was_added(registry: Registry, one: Registration) -> None:
    registry.add(one)
    assert registry.all() == (one,)
    assert all(registry.find(label) == one for label in one.labels)


def test_labels_keep_the_spelling_in_which_they_were_registered(registry: Registry) -> None:
    spelled = LabelForms.of(parse("SID.inpe.br/MTC-m21/2012/06.05.15.34.39"))
    registry.add(registration(service=spelled))
    found = registry.find(REP)
    assert found is not None
    assert str(found.service) == "rep SID.inpe.br/MTC-m21/2012/06.05.15.34.39"


def test_dates_are_kept_to_the_second(registry: Registry) -> None:
    finer = Instant(NOW.seconds, "25")
    inclusion = replace(INCLUSION, since=finer, answered=finer)
    registry.add(registration(registered=finer, inclusion=inclusion, pending=replace(PENDING, since=finer)))
    expected = registration(inclusion=replace(INCLUSION, answered=NOW), pending=PENDING)
    assert registry.all() == (expected,)


def test_an_empty_register_finds_changes_and_forgets_nothing(registry: Registry) -> None:
    before = registry.version()
    assert registry.find(REP) is None
    assert registry.all() == ()
    assert registry.forget(REP) is None
    assert registry.change(REP, lambda found: found) is None
    assert registry.version() == before


def test_a_form_that_was_not_registered_finds_nothing(registry: Registry) -> None:
    assert BOTH.rep is not None
    assert BOTH.ibip is not None
    registry.add(registration(service=LabelForms(BOTH.rep)))
    assert registry.find(BOTH.ibip) is None
    assert registry.find(BOTH.rep) is not None


@pytest.mark.parametrize("taken", [LabelForms(BOTH.rep), LabelForms(ibip=BOTH.ibip), BOTH])
def test_a_label_is_registered_once_and_the_first_stays(registry: Registry, taken: LabelForms) -> None:
    registry.add(FULL)
    before = registry.version()
    with pytest.raises(AlreadyRegistered, match=str(taken.labels[0])):
        registry.add(registration(service=taken))
    assert registry.all() == (FULL,)
    assert registry.version() == before


def test_what_is_put_takes_the_place_of_all_that_share_a_label(registry: Registry) -> None:
    registry.add(registration(1, service=LabelForms(BOTH.rep)))
    registry.add(registration(2, service=LabelForms(ibip=BOTH.ibip)))
    registry.add(registration(3))
    registry.put(FULL)
    assert registry.all() == (registration(3), FULL)
    assert [registry.find(label) for label in BOTH.labels] == [FULL, FULL]


def test_the_list_is_in_the_order_of_registration_then_of_labels(registry: Registry) -> None:
    made = [registration(number, registered=Instant(NOW.seconds + number % 3)) for number in range(10)]
    for one in made:
        registry.add(one)
    assert registry.all() == tuple(sorted(made, key=lambda one: (one.registered, one.labels[0])))


def test_a_change_gives_back_what_it_made(registry: Registry) -> None:
    registry.add(FULL)
    registry.add(registration(1))
    changed = registry.change(BOTH.labels[1], lambda found: replace(found, inclusion=None, pending=None))
    assert changed == replace(FULL, inclusion=None, pending=None)
    assert registry.find(BOTH.labels[0]) == changed
    assert registry.find(registration(1).labels[0]) == registration(1)


def test_a_change_that_fails_changes_nothing(registry: Registry) -> None:
    registry.add(FULL)
    before = registry.version()
    with pytest.raises(ZeroDivisionError):
        registry.change(BOTH.labels[0], lambda found: replace(found, admin_mail=str(1 // 0)))
    with pytest.raises(ValueError, match="keeps its labels"):
        registry.change(BOTH.labels[0], lambda found: replace(found, service=LabelForms(BOTH.rep)))
    assert registry.all() == (FULL,)
    assert registry.version() == before


# --- a prefix has one home --------------------------------------------------------------------------------------------

HOST = "sid.inpe.br/mtc-m21"
SPELLINGS = [f"{HOST}/2001/01.01.01.01", f"{HOST}.80/2001/01.01.01.01", f"{HOST.upper()}@80/2001/01.01.01.01"]


def of(label: str, **others: object) -> Registration:
    return registration(0, service=LabelForms.of(parse(label)), **others)


@pytest.mark.parametrize("label", SPELLINGS)
def test_a_second_archive_of_one_prefix_is_refused_in_every_spelling(registry: Registry, label: str) -> None:
    first = of(str(REP))
    registry.add(first)
    before = registry.version()
    with pytest.raises(PrefixTaken) as refused:
        registry.add(of(label))
    assert (refused.value.parameters["prefix"], refused.value.parameters["holder"]) == (HOST, str(REP))
    assert registry.all() == (first,)
    assert registry.version() == before


@pytest.mark.parametrize("label", SPELLINGS)
def test_one_that_is_shared_may_have_the_prefix_of_another(registry: Registry, label: str) -> None:
    registry.add(of(str(REP)))
    registry.add(of(label, shared=True))
    assert len(registry.all()) == 2


def test_another_port_is_another_prefix(registry: Registry) -> None:
    registry.add(of(str(REP)))
    registry.add(of(f"{HOST}.8080/2001/01.01.01.01"))
    assert len(registry.all()) == 2


def test_a_prefix_that_was_given_belongs_to_its_archive_like_that_of_its_label(registry: Registry) -> None:
    registry.add(registration(1, prefixes=frozenset({HOST, "8jmkd3mgp7w"})))
    for label in (str(REP), "8JMKD3MGP7W/3EPGUE5"):
        with pytest.raises(PrefixTaken):
            registry.add(of(label))
    with pytest.raises(PrefixTaken):
        registry.add(registration(2, prefixes=frozenset({f"{HOST}@80"})))
    assert len(registry.all()) == 1


def test_a_change_gains_no_prefix_of_another_and_keeps_its_own(registry: Registry) -> None:
    registry.add(registration(1, prefixes=frozenset({HOST})))
    registry.add(registration(2))
    label = registration(2).labels[0]
    with pytest.raises(PrefixTaken):
        registry.change(label, lambda found: replace(found, prefixes=frozenset({HOST})))
    assert registry.find(label) == registration(2)
    shared = registry.change(label, lambda found: replace(found, prefixes=frozenset({HOST}), shared=True))
    assert shared is not None
    with pytest.raises(PrefixTaken):  # it has no right to the prefix but that
        registry.change(label, lambda found: replace(found, shared=False))
    # The first needs no one's leave for what it had before.
    assert registry.change(registration(1).labels[0], lambda found: replace(found, vouched=True)) is not None
    assert registry.find(label) == shared


def test_a_form_is_added_and_replaced_and_then_finds_the_archive(registry: Registry) -> None:
    assert BOTH.rep is not None
    assert BOTH.ibip is not None
    registry.add(registration(service=LabelForms(BOTH.rep)))
    registry.change(BOTH.rep, lambda found: replace(found, service=BOTH))
    assert registry.find(BOTH.ibip) == registration(service=BOTH)
    other = parse("8JMKD3MGP8W/3EPGUE5")
    registry.change(BOTH.ibip, lambda found: replace(found, service=LabelForms.of(BOTH.labels[0], other)))
    assert registry.find(BOTH.ibip) is None
    assert registry.find(other) == registry.find(BOTH.rep)
    assert len(registry.all()) == 1


def test_a_form_that_another_archive_has_is_not_added(registry: Registry) -> None:
    assert BOTH.rep is not None
    assert BOTH.ibip is not None
    registry.add(registration(1, service=LabelForms(BOTH.rep)))
    registry.add(registration(2, service=LabelForms(ibip=BOTH.ibip)))
    with pytest.raises(AlreadyRegistered):
        registry.change(BOTH.rep, lambda found: replace(found, service=BOTH))
    registry.forget(BOTH.ibip)
    registry.add(of("8JMKD3MGP7W/35MME4E"))
    with pytest.raises(PrefixTaken):
        registry.change(BOTH.rep, lambda found: replace(found, service=BOTH))
    assert registry.find(BOTH.rep) == registration(1, service=LabelForms(BOTH.rep))


def test_what_is_forgotten_is_given_back_and_its_labels_are_free(registry: Registry) -> None:
    registry.add(FULL)
    assert registry.forget(BOTH.labels[1]) == FULL
    assert registry.forget(BOTH.labels[1]) is None
    assert registry.all() == ()
    registry.add(FULL)
    assert registry.all() == (FULL,)


def test_the_version_changes_with_every_change_and_with_nothing_else(registry: Registry) -> None:
    label = BOTH.labels[0]
    changes: list[Callable[[], object]] = [
        lambda: registry.add(FULL),
        lambda: registry.put(replace(FULL, admin_mail=None)),
        lambda: registry.change(label, lambda found: replace(found, inclusion=None, pending=None)),
        lambda: registry.forget(label),
    ]
    for change in changes:
        before = registry.version()
        change()
        after = registry.version()
        assert after != before
        registry.find(label)
        registry.all()
        registry.change(label, lambda found: found)
        assert registry.version() == after


def test_many_threads_may_change_one_registration_at_once(registry: Registry) -> None:
    registry.add(registration())
    label = registration().labels[0]

    def declare(number: int) -> None:
        registry.change(label, lambda found: replace(found, hosts=found.hosts | {f"host{number}.example.org"}))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(declare, range(40)))
    found = registry.find(label)
    assert found is not None
    assert found.hosts == {f"host{number}.example.org" for number in range(40)}


# --- what only a disk has ---------------------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "data"


PREAMBLE = f"""
import os, signal, sys
from dataclasses import replace
from pathlib import Path
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.messages import LabelForms
from ibi.membership.model.registration import Registration
from ibi.membership.store.registry import SqliteRegistry
def registration(number):
    service = LabelForms.of(parse(f"example.org/archive{{number}}/2008/03.17.15.17"))
    return Registration(service, f"$argon2id$hash-{{number}}", Instant({NOW.seconds}))
registry = SqliteRegistry(Path(sys.argv[1]))
"""


def begun(script: str, *arguments: object) -> subprocess.Popen[bytes]:
    """Another process, with the `registry` of the directory that is its first argument."""
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "src")}
    return subprocess.Popen([sys.executable, "-c", PREAMBLE + script, *map(str, arguments)], env=environ)


def test_registrations_outlive_a_process_that_is_killed(data: Path) -> None:
    process = begun("registry.add(registration(7)); os.kill(os.getpid(), signal.SIGKILL)", data)
    assert process.wait() == -signal.SIGKILL
    registry = SqliteRegistry(data)
    assert registry.all() == (registration(7),)
    registry.close()


def test_a_change_by_another_process_is_seen_at_once(data: Path) -> None:
    registry = SqliteRegistry(data)
    registry.add(registration(1))
    before = registry.version()
    assert begun("registry.forget(registration(1).labels[0]); registry.add(registration(2))", data).wait() == 0
    assert registry.version() != before
    assert registry.find(registration(1).labels[0]) is None
    assert registry.all() == (registration(2),)
    registry.close()


def test_no_change_of_several_processes_is_lost(data: Path) -> None:
    registry = SqliteRegistry(data)
    registry.add(registration())
    script = """
for number in range(20):
    host = f"host{number}-{sys.argv[2]}.example.org"
    registry.change(registration(0).labels[0], lambda found: replace(found, hosts=found.hosts | {host}))
"""
    processes = [begun(script, data, number) for number in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    found = registry.find(registration().labels[0])
    assert found is not None
    assert len(found.hosts) == 60
    registry.close()


def test_several_processes_may_begin_a_register_at_once(data: Path) -> None:
    processes = [begun("registry.add(registration(int(sys.argv[2])))", data, number) for number in range(4)]
    assert [process.wait() for process in processes] == [0, 0, 0, 0]
    registry = SqliteRegistry(data)
    assert registry.all() == tuple(map(registration, range(4)))
    registry.close()


def test_of_two_processes_that_want_one_prefix_at_once_one_gets_it(data: Path) -> None:
    registry = SqliteRegistry(data)
    script = """
from ibi.membership.rules.membership import PrefixTaken
number = int(sys.argv[2])
for each in range(20):
    one = replace(registration(100 * number + each), prefixes=frozenset({f"example.org/shared{each}"}))
    try:
        registry.add(one)
    except PrefixTaken:
        pass
"""
    processes = [begun(script, data, number) for number in range(1, 4)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    taken = [prefix for one in registry.all() for prefix in one.prefixes]
    assert sorted(taken) == sorted(f"example.org/shared{each}" for each in range(20))
    registry.close()


def test_a_register_of_the_first_format_is_opened_and_kept_beside(data: Path) -> None:
    connection = open_earlier(data, "registry", 1)
    columns = "service, key_hash, registered, hosts, networks, address, ip, protocol, platform_version,"
    for number, confirmed in enumerate((0, 1), 1):
        service = f"rep example.org/archive{number}/2008/03.17.15.17"
        connection.execute(
            f"INSERT INTO registrations (id, {columns} included_mail, since, confirmed)"
            f" VALUES ({number}, '{service}', 'hash', {NOW.seconds}, '', '', 'a.example.org', '192.0.2.1', 'HTTP',"
            f" '1', 'a@example.org', {NOW.seconds}, {confirmed})"
        )
        connection.execute("INSERT INTO labels VALUES (?, ?)", (label_key(registration(number).labels[0]), number))
    connection.close()
    registry = SqliteRegistry(data)
    for number, answered in enumerate((None, NOW), 1):
        found = registry.find(registration(number).labels[0])
        assert found is not None
        assert found.inclusion is not None
        assert (found.inclusion.answered, found.pending, found.prefixes, found.shared, found.vouched) == (
            answered,
            None,
            frozenset(),
            False,
            False,
        )
    registry.add(FULL)
    assert FULL in registry.all()
    registry.close()
    assert mode(data / FOLDER / "registry.sqlite") == 0o600  # it has the hashes of keys, too
    SqliteRegistry(data).close()


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_the_register_belongs_to_its_owner_alone(data: Path) -> None:
    old = os.umask(0)
    try:
        registry = SqliteRegistry(data)
        registry.add(registration())
    finally:
        os.umask(old)
    assert mode(data) == 0o700
    assert {mode(file) for file in data.glob(f"{STATE.file_name}*")} == {0o600}
    registry.close()


def test_a_register_that_others_could_read_is_closed_to_them(data: Path) -> None:
    SqliteRegistry(data).close()
    (data / STATE.file_name).chmod(0o644)
    SqliteRegistry(data).close()
    assert mode(data / STATE.file_name) == 0o600


def test_a_register_of_a_newer_version_is_refused(data: Path) -> None:
    SqliteRegistry(data).close()
    with closing(open_state(data)) as database, database.change() as session:
        session.execute("UPDATE parts SET version = 99 WHERE name = 'registry'")
    with pytest.raises(StoreNewer):
        SqliteRegistry(data)


def test_a_file_that_is_no_register_is_refused(data: Path) -> None:
    data.mkdir(parents=True)
    (data / STATE.file_name).write_bytes(b"not a database, but long enough to be looked at" * 100)
    with pytest.raises(StoreDamaged):
        SqliteRegistry(data)


def test_a_place_where_nothing_can_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DiskRefused, match=r"state\.sqlite|directory\.json"):
        SqliteRegistry(tmp_path / "file")


def test_a_recent_version_knows_of_own_changes_at_once(registry: Registry) -> None:
    versions = [registry.recent_version()]
    assert registry.recent_version() == versions[0]
    registry.add(registration(1))
    versions.append(registry.recent_version())
    assert registry.recent_version() == versions[1]
    registry.forget(registration(1).labels[0])
    versions.append(registry.recent_version())
    assert len(set(versions)) == 3


def test_a_recent_version_knows_of_other_changes_soon(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("ibi.membership.store.registry.monotonic", lambda: now[0])
    registry, other = SqliteRegistry(data), SqliteRegistry(data)
    before = registry.recent_version()
    other.add(registration(1))
    assert registry.recent_version() == before
    now[0] += 0.01
    assert registry.recent_version() != before
    registry.close()
    with pytest.raises(StoreClosed):
        registry.recent_version()
    other.close()


def test_a_closed_register_says_so_and_may_be_closed_again(data: Path) -> None:
    registry = SqliteRegistry(data)
    registry.close()
    registry.close()
    for use in (registry.version, registry.recent_version, registry.all, lambda: registry.add(registration())):
        with pytest.raises(StoreClosed):
            use()


def test_a_forked_process_opens_its_own(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = SqliteRegistry(data)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(StoreForked):
        registry.version()
    with pytest.raises(StoreForked):
        registry.forget(REP)
    monkeypatch.undo()
    registry.close()
