"""Errors as answers."""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction

import pytest

from ibi.minting.rules.errors import ClockBehind, ClockRefused, InvalidCount
from ibi.people.rules.errors import NotAllowed, NotAuthenticated
from ibi.people.service.sign_in import TooManyGuesses
from ibi.standard.errors import ErrorKind, IbiError
from ibi.storage.errors import DiskRefused
from ibi.web.errors import problem, retry_after
from ibi.web.request_errors import MethodNotAllowed, UnknownMember
from tests.support.asgi_client import ask

# Everything that a server loads, without the modules whose errors no request meets.
ASK = """
import ibi.app.cli.server, ibi.standard.messages, ibi.standard.persistent_url
from ibi.standard.errors import ErrorKind, IbiError
waiting = [IbiError]
while waiting:
    kind = waiting.pop()
    waiting += kind.__subclasses__()
    others = "ibi.command", "ibi.settings", "ibi.net", "ibi.app", "ibi.server.server"
    floor = kind.__module__.split(".")[2:3]
    elsewhere = kind.__module__.startswith(others) or floor in (["cli"], ["client"], ["opening"])
    if "code" in vars(kind) and not elsewhere:
        says_kind = any("kind" in vars(each) for each in kind.__mro__[:kind.__mro__.index(IbiError)])
        print(kind.code, kind.kind.name if says_kind else "")
"""


@pytest.fixture(scope="module")
def kinds() -> list[tuple[str, str]]:
    """Code and kind of every error that a request can meet, in a process that has loaded nothing else. The kind is
    empty if neither the class nor a base below `IbiError` says it."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, check=True, env=environment)
    found = (line.partition(" ") for line in done.stdout.splitlines())
    return [(code, kind) for code, _, kind in found]


def test_every_error_that_a_request_can_meet_says_its_kind(kinds: list[tuple[str, str]]) -> None:
    assert [code for code, kind in kinds if not kind] == ["error"]


def test_every_kind_is_that_of_an_error(kinds: list[tuple[str, str]]) -> None:
    assert {kind.name for kind in ErrorKind} - {kind for _, kind in kinds} == set()


def test_no_two_errors_have_one_code(kinds: list[tuple[str, str]]) -> None:
    codes = [code for code, _ in kinds]
    assert len(codes) == len(set(codes))


def test_no_two_kinds_are_answered_alike() -> None:
    assert len({(kind.status, kind.is_told, kind.exit_code) for kind in ErrorKind}) == len(ErrorKind)


def test_a_status_says_whose_fault_it_is() -> None:
    assert all(400 <= kind.status < 600 for kind in ErrorKind)


async def answer_with(error: IbiError) -> tuple[int, dict[str, str], dict[str, object]]:
    answer = await ask(problem(error), "GET", "/")
    return answer.status, dict(answer.headers), answer.json()


async def test_problem_details() -> None:
    status, headers, body = await answer_with(InvalidCount(count=0, most=10))
    assert status == 400
    assert headers["content-type"] == "application/problem+json"
    assert body == {
        "type": "urn:ibi:problem:invalid-count",
        "title": "Invalid count",
        "status": 400,
        "detail": "count: 0 is not a number of labels from 1 to 10.",
        "field": "count",
    }


async def test_the_field_may_come_with_the_error() -> None:
    assert (await answer_with(UnknownMember(field="size", known="count")))[2]["field"] == "size"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (Fraction(0), 1),
        (Fraction(1, 1000), 1),
        (1, 1),
        (Fraction(1001, 1000), 2),
        (59.5, 60),
        (10**12, 3600),
        (None, 1),
    ],
)
def test_the_time_to_ask_again_is_whole_seconds_between_one_and_an_hour(seconds: object, shown: int) -> None:
    error = ClockRefused()
    error.retry_after = seconds  # type: ignore[assignment]
    assert retry_after(error) == shown


async def test_a_refused_clock_says_when_to_ask_again() -> None:
    status, headers, body = await answer_with(ClockBehind(now="now", last="then", behind="7.2"))
    assert (status, headers["retry-after"], body["retry_after"]) == (503, "8", 8)


async def test_only_what_passes_has_a_time_to_ask_again() -> None:
    _, headers, body = await answer_with(InvalidCount(count=0, most=10))
    assert "retry-after" not in headers
    assert "retry_after" not in body


async def test_who_asked_too_often_is_told_when_to_ask_again() -> None:
    status, headers, body = await answer_with(TooManyGuesses(retry_after=7))
    assert (status, headers["retry-after"], body["retry_after"]) == (429, "7", 7)


async def test_who_is_not_known_is_told_how_to_become_so() -> None:
    assert (await answer_with(NotAuthenticated()))[1]["www-authenticate"] == 'Bearer realm="ibi"'
    assert (
        'error="insufficient_scope"'
        in (await answer_with(NotAllowed(needed="deposit", scope="read")))[1]["www-authenticate"]
    )


async def test_a_wrong_method_is_told_the_right_ones() -> None:
    status, headers, _ = await answer_with(MethodNotAllowed(method="PUT", allowed="GET, HEAD"))
    assert (status, headers["allow"]) == (405, "GET, HEAD")


async def test_the_files_of_this_machine_are_not_shown_to_callers() -> None:
    status, headers, body = await answer_with(DiskRefused(path="/srv/secret/place", reason="no space left"))
    assert status == 503
    assert int(headers["retry-after"]) >= 1
    assert "/srv" not in str(body)


async def test_an_unforeseen_error_tells_nothing() -> None:
    class Odd(IbiError):
        """The secret is {secret}."""

        code = "odd"

    status, _, body = await answer_with(Odd(secret="hunter2"))
    assert status == 500
    assert "hunter2" not in str(body)
