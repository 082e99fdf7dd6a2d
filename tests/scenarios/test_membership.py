"""An Archive and its resolver, from the first start to the last stop (R Figure 7.1): real processes, real sockets."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import ibi
from tests.support.ibi_command import IbiCommand, Outcome
from tests.support.scripted_resolver import Request, ScriptedResolver, scripted_resolver

KEY = "1234567890-0987654321"
J = "/J8LNKB5R7W/3FUQHC5"


class Archive:
    """The command with the settings of a member."""

    def __init__(self, home: Path, resolver: ScriptedResolver) -> None:
        self.command = IbiCommand(home)
        self.variables = {
            "IBI_RESOLVER": resolver.url,
            "IBI_ARCHIVE_REGISTRATION_KEY": KEY,
            "IBI_ARCHIVE_ADMIN_EMAIL": "banon@dpi.inpe.br",
        }

    def __call__(self, *arguments: str, code: int = 0) -> Outcome:
        done = self.command(*arguments, **self.variables)
        assert done.code == code, done
        return done

    @contextmanager
    def up(self) -> Iterator[tuple[subprocess.Popen[str], str]]:
        with self.command.up("--log-level", "info", **self.variables) as (server, url):
            yield server, url

    def status(self) -> dict[str, object]:
        found: dict[str, object] = json.loads(self("archive", "status", "--json").out)
        return found


def log_line(server: subprocess.Popen[str], words: str) -> str:
    """The next line of the log with these words; the others before it are passed over."""
    assert server.stderr is not None
    return next(line for line in server.stderr if words in line)


def unsigned(request: Request) -> frozenset[str]:
    return frozenset(pair for pair in request.pairs if not pair.startswith("archivesignature="))


def stop(server: subprocess.Popen[str]) -> str:
    """Stopped cleanly; what it had logged and nobody had read."""
    server.send_signal(signal.SIGTERM)
    _, err = server.communicate(timeout=30)
    assert server.returncode == 0
    return err


def test_an_archive_is_included_at_the_start_confirmed_and_excluded_at_the_stop(tmp_path: Path) -> None:
    with scripted_resolver() as resolver:
        archive = Archive(tmp_path, resolver)
        with archive.up() as (server, url):
            inclusion = resolver.next()
            service, other = archive.status()["rep"], archive.status()["ibip"]
            assert inclusion.path == J
            key = json.loads(archive("key", "show", "--json").out)["archive"]["key"]
            assert unsigned(inclusion) == {
                f"archivekey={key}",
                "servicesubject=inclusionRequest",
                f"archiveaddress={url.removeprefix('http://')}",
                "archivefeed=/api/changes",
                f"archiveserviceibi={service}",
                f"archiveserviceibip={other}",
                "archiveip=127.0.0.1",
                "archiveprotocol=HTTP",
                f"archiveplatformversion={ibi.__version__}",
                "archiveadmemailaddress=banon@dpi.inpe.br",
                f"registrationkey={KEY}",
            }
            assert resolver.confirmations == [b"confirmation yes"]
            logged = log_line(server, "included this Archive")
            assert (archive.status()["membership"], archive.status()["confirmed"]) == ("included", True)
            logged += stop(server)
        exclusion = resolver.next()
        assert exclusion.path == J
        assert unsigned(exclusion) == unsigned(inclusion) - {"servicesubject=inclusionRequest"} | {
            "servicesubject=exclusionRequest"
        }
        assert exclusion.value("archivesignature") != inclusion.value("archivesignature")
        assert resolver.received.empty()
        assert archive.status()["membership"] == "off"
    assert KEY not in logged


def test_with_the_resolver_away_it_serves_and_tries_again(tmp_path: Path) -> None:
    with scripted_resolver(away=True) as resolver:
        archive = Archive(tmp_path, resolver)
        with archive.up() as (server, _):
            log_line(server, "cannot be reached")
            status = archive.status()
            assert status["membership"] == "including"
            assert "cannot be reached" in str(status["membership_reason"])
            resolver.open()
            assert resolver.next().subject == "inclusionRequest"
            log_line(server, "included this Archive")
            stop(server)
        assert resolver.next().subject == "exclusionRequest"


def test_a_stop_with_the_resolver_away_is_a_clean_one(tmp_path: Path) -> None:
    with scripted_resolver(away=True) as resolver, Archive(tmp_path, resolver).up() as (server, _):
        log_line(server, "cannot be reached")
        stop(server)


def test_an_archive_is_switched_off_and_on_while_it_runs(tmp_path: Path) -> None:
    with scripted_resolver() as resolver:
        archive = Archive(tmp_path, resolver)
        with archive.up() as (server, _):
            assert resolver.next().subject == "inclusionRequest"
            assert "the running server tells" in archive("archive", "switch-off").out
            assert resolver.next().subject == "exclusionRequest"
            assert archive.status()["switched_on"] is False
            assert "the running server tells" in archive("archive", "switch-on").out
            assert resolver.next().subject == "inclusionRequest"
            archive("archive", "switch-off")
            assert resolver.next().subject == "exclusionRequest"
            log_line(server, "excluded this Archive")
            log_line(server, "excluded this Archive")
            stop(server)
        assert resolver.received.empty()  # it had said so before
        with archive.up() as (server, _):
            stop(server)
        assert resolver.received.empty()  # still switched off


def test_without_a_server_switching_off_tells_the_resolver_itself(tmp_path: Path) -> None:
    with scripted_resolver() as resolver:
        archive = Archive(tmp_path, resolver)
        with archive.up() as (server, _):
            resolver.next()
            log_line(server, "included this Archive")
            server.kill()
            server.wait(30)
        assert archive.status()["membership"] == "included"  # as far as anybody can tell
        assert "was told" in archive("archive", "switch-off").out
        assert resolver.next().subject == "exclusionRequest"
        assert archive.status()["membership"] == "off"
        assert "when it starts" in archive("archive", "switch-on").out
        assert resolver.received.empty()


def test_switching_off_says_when_the_resolver_could_not_be_told(tmp_path: Path) -> None:
    with scripted_resolver(away=True) as resolver:
        archive = Archive(tmp_path, resolver)
        with archive.up() as (server, _):
            stop(server)
        assert "cannot be reached" in archive("archive", "switch-off", code=1).err
        assert archive.status()["switched_on"] is False


def test_the_mail_of_example_7_1(tmp_path: Path) -> None:
    with scripted_resolver(away=True) as resolver:
        archive = Archive(tmp_path, resolver)
        with archive.up() as (server, _):
            stop(server)
        service, other = archive.status()["rep"], archive.status()["ibip"]
        text = archive("archive", "registration-mail").out
        key = json.loads(archive("key", "show", "--json").out)["archive"]["key"]
        lines = f"archiveserviceibip = {other}\n", f"archivekey = {key}\n"
        assert all(line in text for line in lines)
        for line in lines:
            text = text.replace(line, "")
        assert archive("archive", "registration-mail", "--one-form").out == text
        assert text == (
            "Solicitação de cadastro de um novo Arquivo\n\nIBI do serviço de Arquivo:\n"
            f"archiveserviceibi = {service}\n\nChave de cadastro:\nregistrationkey = {KEY}\n"
        )
        whole = archive("archive", "registration-mail", "--to", "registro@urlib.net").out
        assert "From: banon@dpi.inpe.br" in whole
        assert "To: registro@urlib.net" in whole


@pytest.mark.parametrize("missing", ["IBI_RESOLVER", "IBI_ARCHIVE_REGISTRATION_KEY"])
def test_without_a_resolver_or_a_key_there_is_no_membership_and_no_word(tmp_path: Path, missing: str) -> None:
    with scripted_resolver() as resolver:
        archive = Archive(tmp_path, resolver)
        del archive.variables[missing]
        with archive.up() as (server, _):
            assert "resolver" not in stop(server)
        assert "no resolver is told" in archive("archive", "switch-off").out
        assert resolver.received.empty()


def test_a_missing_setting_is_logged_and_the_archive_serves(tmp_path: Path) -> None:
    with scripted_resolver() as resolver:
        archive = Archive(tmp_path, resolver)
        del archive.variables["IBI_ARCHIVE_ADMIN_EMAIL"]
        with archive.up() as (server, _):
            assert "archive.admin_email is not set" in str(archive.status()["membership_reason"])
            assert "archive.admin_email is not set" in stop(server)
        assert "archive.admin_email is not set" in archive("archive", "switch-on", code=1).err
        assert resolver.received.empty()
