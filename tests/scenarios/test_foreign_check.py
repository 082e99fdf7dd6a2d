"""`ibi check` on an Archive and on a resolver of another make (`tests/foreign`): those that do what R says pass, and
each fault is found."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.foreign.processes import ForeignProcess, foreign
from tests.scenarios.test_check import CHECKER, RESOLVER, checked, reasons
from tests.support.foreign_world import related_items
from tests.support.ibi_command import IbiCommand

PREFIX = "sid.inpe.br/mtc-m18@80"
SERVICE = f"{PREFIX}/2008/03.17.15.17"
KEY = "1234567890-7730914258"
NOWHERE = "127.0.0.1:1"


@pytest.fixture
def command(tmp_path: Path) -> IbiCommand:
    return IbiCommand(tmp_path)


@contextmanager
def archive(**style: object) -> Iterator[tuple[str, list[str]]]:
    """The address of an Archive that answers so, and flags that name its items."""
    items = related_items(f"{PREFIX}/1999/01.02.03", style)
    gone, single = f"{PREFIX}/1999/01.02.04.00", f"{PREFIX}/1999/01.02.05.00"
    others = [
        {"rep": SERVICE, "files": ["index.html"], "style": style},
        {"rep": gone, "files": ["a.pdf"], "state": "Deleted", "style": style},
        {"rep": single, "files": ["a.txt", "b.txt"], "style": style},
    ]
    with foreign("archive", "--service", SERVICE) as started:
        started("items", items=[*items.values(), *others])
        named = (str(items["1en"]["rep"]), gone, single)
        yield f"http://{started.address}/{SERVICE}", [each for label in named for each in ("--item", label)]


@pytest.mark.parametrize("is_filtered", [True, False], ids=["filtered", "unfiltered"])
def test_an_archive_that_was_written_from_the_standard_passes(command: IbiCommand, *, is_filtered: bool) -> None:
    with archive(filtered=is_filtered) as (url, items):
        code, report, judged = checked(command, url, "--write", *items)
    assert reasons(report, "fail", "warning") == {}
    assert (code, report["judgment"], report["complete"], report["archive"]) == (0, "pass", True, SERVICE)
    assert list(judged.values()).count("pass") >= 55


def test_an_archive_without_last_editions_fails(command: IbiCommand) -> None:
    with archive(relations="no last edition") as (url, items):
        code, report, judged = checked(command, url, *items)
    assert (code, judged["the-only-edition-is-the-last"]) == (1, "fail")
    assert {name for name in reasons(report, "fail") if "edition" not in name and "metadata" not in name} == set()


def test_an_archive_of_which_no_url_leads_anywhere_fails(command: IbiCommand) -> None:
    with archive(files_at=NOWHERE) as (url, items):
        code, report, judged = checked(command, url, *items)
    assert (code, judged["the-url-leads-to-the-item"]) == (1, "fail")
    assert "refused" in json.dumps(report)


@contextmanager
def resolver(fault: str = "") -> Iterator[ForeignProcess]:
    with foreign("resolver") as started:
        started("register", service=CHECKER, key=KEY)
        started("err", fault=fault)
        yield started


def judged_resolver(command: IbiCommand, address: str) -> tuple[int, dict[str, str]]:
    """The exit code, and the reasons of what fails."""
    member = ("--write", "--archive-service", CHECKER)
    code, report, _ = checked(command, f"http://{address}/{RESOLVER}", *member, IBI_REGISTRATION_KEY=KEY)
    return code, reasons(report, "fail")


def test_a_resolver_that_was_written_from_the_standard_passes(command: IbiCommand) -> None:
    with resolver() as started:
        assert judged_resolver(command, started.address) == (0, {})


@pytest.mark.parametrize(
    ("fault", "broken"),
    [
        ("utf-8", {"octets-of-a-path-are-passed-on", "values-are-encoded"}),
        ("0.0.0.0", {"the-readers-own-address-is-told"}),
        ("127.0.0.0", {"the-readers-own-address-is-told"}),
        ("203.0.113.9", {"the-readers-own-address-is-told"}),
    ],
)
def test_a_resolver_that_errs_fails_the_clauses_that_it_breaks(
    command: IbiCommand, fault: str, broken: set[str]
) -> None:
    with resolver(fault) as started:
        code, failed = judged_resolver(command, started.address)
    assert (code, set(failed)) == (1, broken), failed
