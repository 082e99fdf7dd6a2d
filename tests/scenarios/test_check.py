"""`ibi check` as an administrator runs it: real processes, over HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.ibi_command import IbiCommand

KEY = "7730914258"
CHECKER = "example.org/checker/2020/01.01.00.00"
RESOLVER = "J8LNKB5R7W/3FUQHC5"


def checked(command: IbiCommand, *arguments: str, **variables: str) -> tuple[int, dict[str, Any], dict[str, str]]:
    """The exit code, the report, and the judgments by check."""
    done = command("check", *arguments, "--json", **variables)
    assert done.err == ""
    report = json.loads(done.out)
    return done.code, report, {each["check"]: each["judgment"] for each in report["clauses"]}


def reasons(report: dict[str, Any], *judgments: str) -> dict[str, str]:
    return {each["check"]: each["reason"] for each in report["clauses"] if each["judgment"] in judgments}


@pytest.fixture
def command(tmp_path: Path) -> IbiCommand:
    return IbiCommand(tmp_path)


def test_ours_passes_as_archive_and_as_resolver(command: IbiCommand) -> None:
    with command.up("--demo") as (_, url):
        code, report, judged = checked(command, url, "--write")
        assert reasons(report, "fail", "warning") == {}
        assert (code, report["judgment"], report["complete"]) == (0, "pass", True)
        assert report["archive"]
        assert report["resolver"]
        assert list(judged.values()).count("pass") > 65
        registered = command(
            "resolver", "register", CHECKER, "--allow-network", "127.0.0.0/8", IBI_REGISTRATION_KEY=KEY
        )
        assert registered.code == 0, registered
        member = ("--write", "--archive-service", CHECKER)
        code, report, judged = checked(command, f"{url}/{RESOLVER}", *member, IBI_REGISTRATION_KEY=KEY)
        assert reasons(report, "fail") == {}
        assert code == 0
        assert judged["an-acknowledgment-has-its-pairs"] == judged["an-excluded-archive-is-not-asked"] == "pass"
