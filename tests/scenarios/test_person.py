"""`ibi person`, on a data directory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ibi.web.reader import PAGE_LANGUAGES
from tests.support.ibi_command import IbiCommand


@pytest.fixture
def ibi(tmp_path: Path) -> IbiCommand:
    command = IbiCommand(tmp_path)
    command.data.mkdir()
    return command


def test_a_person_gets_an_account_a_link_and_is_shut_out_again(ibi: IbiCommand) -> None:
    made = ibi("person", "create", "ada", "--role", "librarian", "--json")
    link = ibi("person", "link", "ADA")
    disabled = ibi("person", "disable", "ada")
    listed = ibi("person", "list", "--json")

    assert json.loads(made.out)["password"] is False
    assert link.out.startswith("http://127.0.0.1:8765/sign-in/")
    assert disabled.code == 0
    assert json.loads(listed.out)["disabled"] is not None


def test_the_language_of_mails_to_a_person_is_set_and_taken_away(ibi: IbiCommand) -> None:
    ibi("person", "create", "ana", "--role", "depositor")
    for given, kept in (*((each, each) for each in PAGE_LANGUAGES), ("", None)):
        changed = ibi("person", "change", "ana", "--language", given, "--json")
        assert (changed.code, json.loads(changed.out)["language"]) == (0, kept)
    refused = ibi("person", "change", "ana", "--language", "tlh")
    assert (refused.code, "pt-BR" in refused.err) == (2, True)


def test_a_person_is_called_as_they_write_their_name(ibi: IbiCommand) -> None:
    made = ibi("person", "create", "João Ávila", "--role", "depositor", "--mail", "joao@lab.example")
    again = ibi("person", "create", "JOÃO ÁVILA", "--role", "admin")
    changed = ibi("person", "change", "joão ávila", "--role", "librarian", "--shown", "João P. Ávila", "--json")
    token = ibi("token", "create", "--scope", "edit", "--for", "João Ávila", "--json")
    disabled, enabled = ibi("person", "disable", "joão ávila"), ibi("person", "enable", "João Ávila")

    assert made.out == "João Ávila has an account, as depositor.\n"
    assert "There is a person called" in again.err
    found = json.loads(changed.out)
    assert (found["name"], found["shown"], found["role"]) == ("João Ávila", "João P. Ávila", "librarian")
    assert found["mail"] == "joao@lab.example"
    assert json.loads(token.out)["account"] == "person:João Ávila"
    assert (disabled.code, enabled.code) == (0, 0)
    assert json.loads(ibi("person", "list", "--json").out)["disabled"] is None


def test_an_invitation_is_a_link_to_hand_over(ibi: IbiCommand) -> None:
    invited = ibi("person", "invite", "eva@lab.example", "--role", "depositor")

    assert invited.out.startswith("http://127.0.0.1:8765/sign-in/invitation/")
    assert "invite person" in ibi("audit").out


def test_a_link_to_an_ipv6_address_can_be_followed(ibi: IbiCommand) -> None:
    ibi("person", "create", "ada", "--role", "librarian")
    (ibi.data / "ibi.toml").write_text('host = "::1"\n')
    assert ibi("person", "link", "ada").out.startswith("http://[::1]:8765/sign-in/")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("person", "create", "-ada", "--role", "admin"), "No such option"),
        (("person", "create", "a:da", "--role", "admin"), "ibi: name: 'a:da' will not do"),
        (("person", "create", "ada", "--role", "admin", "--mail", "ada"), "ibi: mail: 'ada' is not an e-mail"),
        (("person", "change", "nobody", "--role", "admin"), "There is no person called 'nobody'"),
        (("person", "create", "ada", "--role", "king"), "'king' is not one of"),
        (("person", "link", "nobody"), "There is no person called 'nobody'"),
        (("person", "password", "nobody", "--password-stdin"), "There is no person called"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(ibi: IbiCommand, arguments: tuple[str, ...], complaint: str) -> None:
    done = ibi(*arguments)

    assert done.code != 0
    assert complaint in done.err
    assert len(done.err.splitlines()) == 1
