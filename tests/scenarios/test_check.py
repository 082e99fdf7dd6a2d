"""`ibi check` as an administrator runs it: real processes, over HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.scenarios.test_resolver import get
from tests.support.ibi_command import IbiCommand
from tests.support.lying_archive import inclusion

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


def test_the_server_of_a_data_directory_is_checked_by_its_name(command: IbiCommand) -> None:
    """Address, service and key are in its settings."""
    label = ["check", "--data", str(command.data)]
    refused = command(*label)
    assert (refused.code, refused.out) == (2, "")
    assert "there is no data directory" in refused.err
    with command.up("--demo") as (_, url):
        registered = command(
            "resolver", "register", CHECKER, "--allow-network", "127.0.0.0/8", IBI_REGISTRATION_KEY=KEY
        )
        assert registered.code == 0, registered
        settings = command.data / "ibi.toml"
        table = "\n[archive]\n"
        assert table in settings.read_text()
        settings.write_text(settings.read_text().replace(table, f'{table}registration_key = "{KEY}"\n'))
        code, report, judged = checked(command, *label[1:], "--write", "--archive-service", CHECKER)
        assert reasons(report, "fail", "warning") == {}
        assert (code, report["judgment"], report["url"]) == (0, "pass", url.rstrip("/"))
        assert report["archive"] == json.loads(command("archive", "status", "--json").out)["rep"]
        assert report["resolver"]
        assert judged["the-readers-own-address-is-told"] == judged["octets-of-a-path-are-passed-on"] == "pass"
        assert command("check", url, *label[1:]).code == command("check").code == 2
    silent = command(*label)
    assert (silent.code, silent.out, silent.err.count("\n")) == (2, "", 1), silent


def test_a_resolver_that_has_seen_ten_wrong_keys_passes(command: IbiCommand) -> None:
    """They come from the network of the checker, of which they say nothing."""
    with command.up("--demo") as (_, url):
        registered = command(
            "resolver", "register", CHECKER, "--allow-network", "127.0.0.0/8", IBI_REGISTRATION_KEY=KEY
        )
        assert registered.code == 0, registered
        for service in (CHECKER, "example.org/neighbour/2020/01.01.00.00"):
            for wrong in range(10):
                answer, _ = get(
                    f"{url.rstrip('/')}/{RESOLVER}?{inclusion(service, '127.0.0.1:9', f'99999999{wrong:02}')}"
                )
                assert answer.status == 403
        member = ("--write", "--archive-service", CHECKER)
        code, report, _ = checked(command, f"{url}/{RESOLVER}", *member, IBI_REGISTRATION_KEY=KEY)
        assert reasons(report, "fail") == {}
        assert code == 0
