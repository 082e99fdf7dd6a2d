"""The register of a resolver by hand (R §7.1): the command in processes of its own, beside a server that runs."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.applications import Starlette

from ibi.membership.store.registry import SqliteRegistry
from ibi.people.model.account import Scope
from ibi.resolver.api.archives import ArchivePages
from ibi.web.authentication import Authentication
from tests.support.ibi_command import IbiCommand, Outcome
from tests.support.mail_server import mail_server
from tests.support.membership_app import REP, MembershipApp, Post, query
from tests.support.memory.tokens import MemoryTokens
from tests.support.minting_app import add_token
from tests.support.running_server import running

KEY = "7730914258"
OTHER = "dpi.inpe.br/banon/1999/01.09.22.14"
MAIL = f"""\
From: Ana <ana@example.org>
To: register@example.org
Subject: =?utf-8?q?Solicita=C3=A7=C3=A3o_de_cadastro_de_um_novo_Arquivo?=
Content-Type: text/plain; charset=utf-8

IBI do serviço de Arquivo:
archiveserviceibi = {OTHER}

Chave de cadastro:
registrationkey = {KEY}
"""


@pytest.fixture
def ibi(tmp_path: Path) -> IbiCommand:
    command = IbiCommand(tmp_path)
    command.data.mkdir()
    return command


def register(ibi: IbiCommand, *arguments: str, key: str = KEY, **variables: str) -> Outcome:
    return ibi("resolver", "register", *arguments, IBI_REGISTRATION_KEY=key, **variables)


def listed(ibi: IbiCommand, **variables: str) -> list[dict[str, object]]:
    done = ibi("resolver", "list", "--json", **variables)
    assert done.code == 0, done
    return [json.loads(line) for line in done.out.splitlines()]


def test_an_archive_is_registered_listed_and_forgotten(ibi: IbiCommand) -> None:
    done = register(ibi, REP, "--host", "cdn.example.org", "--allow-network", "10.0.0.0/8")
    assert (done.code, done.out, done.err) == (0, f"{REP} is registered.\n", "")
    assert ibi("resolver", "list").out == f"{REP}  switched off\n"
    (one,) = listed(ibi)
    assert (one["rep"], one["hosts"], one["networks"], one["included"]) == (
        REP,
        ["cdn.example.org"],
        ["10.0.0.0/8"],
        False,
    )
    assert ibi("resolver", "forget", REP.upper()).out == f"{REP} is forgotten.\n"
    assert listed(ibi) == []
    missing = ibi("resolver", "forget", REP)
    assert (missing.code, missing.out) == (1, "")
    assert missing.err == f"ibi: No Archive {REP} is registered here: `ibi resolver list` shows those that are.\n"


def test_networks_are_allowed_and_no_longer(ibi: IbiCommand) -> None:
    register(ibi, REP)
    done = ibi("resolver", "allow-network", REP, "10.0.0.0/8")
    assert done.out == f"{REP} may be dialled in 10.0.0.0/8.\n"
    done = ibi("resolver", "allow-network", REP, "10.0.0.0/8", "--undo")
    assert done.out == f"{REP} may be dialled in no network of its own.\n"
    wrong = ibi("resolver", "allow-network", REP, "10.0.0.1/8")
    assert wrong.code == 1
    assert "is not a network" in wrong.err


def test_a_second_registration_is_refused_and_a_new_key_is_not(ibi: IbiCommand) -> None:
    register(ibi, REP)
    again = register(ibi, REP, key="5985125171")
    assert (again.code, again.err) == (1, f"ibi: {REP} is registered already. Nothing was changed.\n")
    assert register(ibi, REP, "--replace", key="5985125171").out == f"{REP} has a new key.\n"


def test_both_forms_may_be_given(ibi: IbiCommand) -> None:
    rep, ibip = "sid.inpe.br/mtc-m19/2013/09.04.12.27.57", "8JMKD3MGP7W/3EPGUE5"
    assert register(ibi, ibip, rep).code == 0
    (one,) = listed(ibi)
    assert (one["rep"], one["ibip"]) == (rep, ibip)
    assert ibi("resolver", "forget", ibip).code == 0


@pytest.mark.parametrize(
    ("key", "said"),
    [("1234567890", "one that is tried first"), ("12345", "IBI_REGISTRATION_KEY: what was given is not")],
)
def test_a_key_that_will_not_do_is_refused_and_not_shown(ibi: IbiCommand, key: str, said: str) -> None:
    done = register(ibi, REP, key=key)
    assert done.code == 1
    assert said in done.err
    assert key not in done.err + done.out
    assert listed(ibi) == []


def test_a_weak_key_may_be_allowed(ibi: IbiCommand) -> None:
    done = register(ibi, REP, "--allow-weak-key", key="1234567890")
    assert (done.code, done.out) == (0, f"{REP} is registered.\n")
    assert done.err.startswith("ibi: the key is easy to guess, because its digits follow one another")


def test_an_easy_key_is_accepted_with_a_warning_and_in_a_sandbox_every_key(ibi: IbiCommand) -> None:
    done = register(ibi, REP, key="4712345678")
    assert (done.code, done.out) == (0, f"{REP} is registered.\n")
    assert "easy to guess" in done.err
    sandbox = {"IBI_MINT_HOST": "ibi.localhost", "IBI_MINT_SANDBOX": "true"}
    done = register(ibi, OTHER, "--json", key="1234567890", **sandbox)
    assert done.code == 0, done
    assert json.loads(done.out)["warnings"]
    assert "1234567890" not in done.out + done.err


def test_a_registration_is_changed_without_its_key(ibi: IbiCommand) -> None:
    register(ibi, REP)
    register(ibi, OTHER)
    registered = listed(ibi)[0]["registered"]
    done = ibi(
        *("resolver", "set", REP, "--prefix", "sid.inpe.br/mtc-m18", "--vouched", "--host", "cdn.example.org"),
        *("--allow-network", "10.0.0.0/8", "--admin-mail", "ana@example.org", "--successor", OTHER),
    )
    assert (done.code, done.err) == (0, "")
    assert done.out == f"{REP} is changed.  vouched; home of sid.inpe.br/mtc-m18; succeeded by {OTHER}\n"
    one = next(each for each in listed(ibi) if each["rep"] == REP)
    assert (one["prefixes"], one["vouched"], one["hosts"], one["networks"], one["admin_mail"], one["registered"]) == (
        ["sid.inpe.br/mtc-m18"],
        True,
        ["cdn.example.org"],
        ["10.0.0.0/8"],
        "ana@example.org",
        registered,
    )
    undo = ("--remove-prefix", "sid.inpe.br/mtc-m18", "--not-vouched", "--no-successor", "--remove-network")
    assert ibi("resolver", "set", REP, *undo, "10.0.0.0/8").out == f"{REP} is changed.\n"
    taken = ibi("resolver", "set", OTHER, "--prefix", "sid.inpe.br/mtc-m21.80")
    assert taken.code == 1
    assert taken.err.startswith(f"ibi: {OTHER} cannot be the home of sid.inpe.br/mtc-m21, because {REP} is.")
    assert ibi("resolver", "set", OTHER, "--prefix", "sid.inpe.br/mtc-m21.80", "--shared").code == 0
    nothing = ibi("resolver", "set", REP)
    assert nothing.code == 2
    assert "say what to change" in nothing.err


def test_a_second_archive_of_one_prefix_needs_to_be_shared(ibi: IbiCommand) -> None:
    second = "sid.inpe.br/mtc-m21@80/2001/01.01.01.01"
    register(ibi, REP)
    refused = register(ibi, second)
    assert (refused.code, refused.out) == (1, "")
    assert "(`--shared`)" in refused.err
    assert register(ibi, second, "--shared").code == 0
    assert "  switched off  shared\n" in ibi("resolver", "list").out


def typed(ibi: IbiCommand, arguments: list[str], text: str, *, terminal: bool) -> Outcome:
    """The command with something typed into it, at a terminal or through a pipe."""
    command = [sys.executable, "-c", "from ibi.command import main; main()", *arguments]
    environment = ibi.environment()
    if not terminal:
        done = subprocess.run(
            command, cwd=ibi.home, env=environment, input=text, capture_output=True, text=True, check=False, timeout=60
        )
        return Outcome(done.returncode, done.stdout, done.stderr)
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            command, cwd=ibi.home, env=environment, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
        )
        os.close(theirs)
        shown = b""
        for line in text.splitlines(keepends=True):
            asked = shown.count(b": ")
            while shown.count(b": ") == asked:
                shown += os.read(ours, 1000)
            os.write(ours, line.encode())
        while piece := _read(ours):
            shown += piece
        return Outcome(process.wait(60), shown.decode(), "")
    finally:
        os.close(ours)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1000)
    except OSError:  # the other end is closed
        return b""


def test_the_key_is_asked_for_twice_at_a_terminal_and_not_shown(ibi: IbiCommand) -> None:
    done = typed(ibi, ["resolver", "register", REP], f"{KEY}\n{KEY}\n", terminal=True)
    assert done.code == 0
    assert f"{REP} is registered." in done.out
    assert KEY not in done.out
    assert len(listed(ibi)) == 1


def test_the_key_may_come_through_a_pipe(ibi: IbiCommand) -> None:
    assert typed(ibi, ["resolver", "register", REP, "--key-stdin"], f" {KEY} \r\n", terminal=False).code == 0
    assert len(listed(ibi)) == 1
    empty = typed(ibi, ["resolver", "register", OTHER, "--key-stdin"], "", terminal=False)
    assert (empty.code, empty.out) == (1, "")


def test_without_a_terminal_nothing_is_asked(ibi: IbiCommand) -> None:
    done = typed(ibi, ["resolver", "register", REP], f"{KEY}\n{KEY}\n", terminal=False)
    assert done.code == 2
    assert "--key-stdin" in done.err


# --- by e-mail -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("from_stdin", [True, False])
def test_a_mail_registers_an_archive_and_the_answer_is_shown(ibi: IbiCommand, from_stdin: bool) -> None:
    (ibi.home / "mail.eml").write_text(MAIL, encoding="utf-8")
    place = "-" if from_stdin else "mail.eml"
    done = typed(ibi, ["resolver", "read-mail", place], MAIL, terminal=False)
    assert done.code == 0, done
    assert done.out.startswith(
        f"{OTHER} is registered.\n\nTo: ana@example.org\nSubject: Cadastro de Arquivo confirmado"
    )
    assert "ibi archive switch-on" in done.out
    assert KEY not in done.out + done.err
    (one,) = listed(ibi)
    assert (one["rep"], one["admin_mail"]) == (OTHER, "ana@example.org")


def test_a_mail_that_registers_nothing_is_refused(ibi: IbiCommand) -> None:
    done = typed(ibi, ["resolver", "read-mail", "-"], MAIL.replace("archiveserviceibi", "service"), terminal=False)
    assert done.code == 1
    assert "archiveserviceibi" in done.err
    weak = typed(ibi, ["resolver", "read-mail", "-"], MAIL.replace(KEY, "1234567890"), terminal=False)
    assert (weak.code, listed(ibi)) == (1, [])
    assert "1234567890" not in weak.err


def test_a_mail_gives_no_new_key_to_an_archive_that_is_registered(ibi: IbiCommand) -> None:
    register(ibi, OTHER, key="5985125171")
    done = typed(ibi, ["resolver", "read-mail", "-"], MAIL, terminal=False)
    assert (done.code, done.err) == (1, f"ibi: {OTHER} is registered already. Nothing was changed.\n")


def variables(port: int) -> dict[str, str]:
    return {
        "IBI_MAIL_SERVER": "127.0.0.1",
        "IBI_MAIL_PORT": str(port),
        "IBI_MAIL_SECURITY": "none",
        "IBI_MAIL_SENDER": "register@example.org",
        "IBI_PUBLIC_URL": "https://urlib.example.org",
    }


def test_an_administrator_is_told_through_the_mail_server(ibi: IbiCommand) -> None:
    (ibi.home / "mail.eml").write_text(MAIL, encoding="utf-8")
    with mail_server() as server:
        done = ibi("resolver", "read-mail", "mail.eml", "--admin-mail", "bia@example.org", **variables(server.port))
    assert (done.code, done.out) == (0, f"{OTHER} is registered.\nbia@example.org was told by e-mail.\n")
    (message,) = server.messages
    assert b"To: bia@example.org" in message
    assert b"https://urlib.example.org" in message
    assert KEY.encode() not in message


def test_a_mail_server_that_refuses_undoes_nothing(ibi: IbiCommand) -> None:
    with mail_server({"RCPT": b"550 unknown"}) as server:
        done = register(ibi, REP, "--admin-mail", "ana@example.org", **variables(server.port))
    assert done.code == 1
    assert "registered, but its administrator was not told" in done.err
    assert "550 unknown" in done.err
    assert "To: ana@example.org" in done.out
    assert len(listed(ibi)) == 1


@pytest.mark.parametrize("missing", ["IBI_MAIL_SENDER", "IBI_MAIL_PASSWORD"])
def test_half_a_mail_server_is_refused_before_anything_is_done(ibi: IbiCommand, missing: str) -> None:
    given = {**variables(25), "IBI_MAIL_USER": "ibi", "IBI_MAIL_PASSWORD": "hunter2"}
    del given[missing]
    done = register(ibi, REP, **given)
    assert done.code == 1
    assert missing.removeprefix("IBI_").lower().replace("_", ".") in done.err
    assert "hunter2" not in done.err
    assert listed(ibi) == []


# --- beside a server -------------------------------------------------------------------------------------------------


async def test_a_server_that_runs_sees_what_the_command_does_at_once(ibi: IbiCommand) -> None:
    registry = SqliteRegistry(ibi.data)
    server = MembershipApp(registry=registry)
    inclusion = query(registrationkey=KEY)
    assert (await server.send(inclusion)).status == 403
    assert register(ibi, REP).code == 0
    assert (await server.send(inclusion)).status == 200
    assert server.addresses == ["mtc-m21.sid.inpe.br"]
    assert "included  mtc-m21.sid.inpe.br  confirmed  since" in ibi("resolver", "list").out
    assert ibi("resolver", "allow-network", REP, "10.0.0.0/8").code == 0
    assert [str(each) for archive in server.directory.archives() for each in archive.networks] == ["10.0.0.0/8"]
    assert register(ibi, REP, "--replace", key="5985125171").code == 0
    assert (await server.send(inclusion)).status == 403
    assert server.addresses == ["mtc-m21.sid.inpe.br"]
    assert ibi("resolver", "forget", REP).code == 0
    assert server.addresses == []
    await server.admin.close()
    registry.close()


@contextmanager
def served() -> Iterator[tuple[str, MembershipApp, dict[str, str]]]:
    """A server's register, its URL, and the variables of an administrator there."""
    resolver, tokens = MembershipApp(post=Post()), MemoryTokens()
    app = Starlette(routes=ArchivePages(resolver.admin, Authentication(tokens, resolver.clocks)).routes())
    with running(app) as server:
        yield server.url, resolver, {"IBI_SERVER": server.url, "IBI_TOKEN": add_token(tokens, Scope.ADMIN)}


def test_a_server_may_be_asked_instead(ibi: IbiCommand) -> None:
    with served() as (url, resolver, admin):
        done = register(ibi, REP, "--admin-mail", "ana@example.org", **admin)
        assert (done.code, done.out) == (0, f"{REP} is registered.\nana@example.org was told by e-mail.\n")
        assert resolver.found() is not None
        assert ibi("resolver", "allow-network", REP, "10.0.0.0/8", **admin).code == 0
        (one,) = listed(ibi, **admin)
        assert (one["admin_mail"], one["networks"]) == ("ana@example.org", ["10.0.0.0/8"])
        (public,) = listed(ibi, IBI_SERVER=url)
        assert "admin_mail" not in public
        done = ibi("resolver", "set", REP, "--vouched", "--prefix", "sid.inpe.br/mtc-m18", **admin)
        assert done.out == f"{REP} is changed.  vouched; home of sid.inpe.br/mtc-m18\n"
        assert ibi("resolver", "forget", REP, **admin).code == 0
        assert resolver.found() is None
    assert list(ibi.data.iterdir()) == []
