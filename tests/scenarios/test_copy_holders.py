"""A resolver and two Archives in processes of their own: the one that follows the other is offered to its
administrator as a holder of Copies, and stands in for it, without a restart and without an edit."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ibi.resolver.opening.register import open_register
from ibi.settings import load_settings
from tests.scenarios.test_without_centre import Member, application, ask, until
from tests.support.ibi_command import IbiCommand


def told(command: IbiCommand, *arguments: str) -> list[dict[str, Any]]:
    done = command(*arguments, "--json")
    assert done.code == 0, done
    return [json.loads(line) for line in done.out.splitlines()]


def test_a_follower_that_the_administrator_names_answers_for_an_archive_that_is_killed(tmp_path: Path) -> None:
    (tmp_path / "resolver").mkdir()
    with ExitStack() as opened:
        resolver = IbiCommand(tmp_path / "resolver")
        _, url = opened.enter_context(resolver.up())
        home, follower = (Member(tmp_path / f"arq{number}", number) for number in range(2))
        with open_register(load_settings({"data": str(resolver.data)}, {})) as admin:
            for each in (home, follower):
                admin.register_archive(application(each.service))
        home.start(opened, url)
        follower.start(opened, url)
        assert told(home.command, "archive", "holders", "list") == []

        assert follower.command("follow", "--all", "--from", home.url).code == 0
        until(lambda: told(home.command, "archive", "holders", "list") != [])
        (offered,) = told(home.command, "archive", "holders", "list")
        assert (offered["archive"], offered["prefixes"], offered["state"]) == (follower.service, None, "offered")
        until(lambda: follower.command("show", home.item).code == 0)

        assert told(home.command, "archive", "holders", "add", follower.service)[0]["state"] == "named"
        place = f"/{home.item}?ibiurl.trace=json"
        until(lambda: _holders(resolver, home.item) == [follower.service])
        home.end()
        until(lambda: ask(url, f"/{home.item}")[0] == 302)
        status, location, _, _ = ask(url, f"/{home.item}")
        assert (status, str(location).startswith(follower.url)) == (302, True)
        trace = json.loads(ask(url, place)[3])
        assert "the home is silent, and named it as a holder of Copies" in json.dumps(trace)


def _holders(resolver: IbiCommand, item: str) -> list[str]:
    (found,) = told(resolver, "resolver", "beliefs", item)
    return [label for each in found["homes"] for label in each["copies_at"]]
