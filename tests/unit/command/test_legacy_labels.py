"""Items named by labels of before 2008 (E72), by every command that takes a label: on a data directory and a server."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ibi.command.root import app as command
from ibi.standard.errors import InvalidLabel
from tests.support.records_app import unstarted_records_app
from tests.support.running_server import running

LISE, OTHER = "83LX3pFwXQZ5Jpy/Bkjzd", "6qtX3pFwXQZ3P8SECKy/Gk4Ky"
LINK = f"http://urlib.net/{LISE}"
UNSET = {name: None for name in os.environ if name.startswith("IBI_")}


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # no settings of another directory
    (tmp_path / "a.txt").write_text("content")


def check_commands(ibi: object) -> None:
    """Every command that takes a label does the same with one of before 2008, and with a link that has it."""

    def done(*arguments: str) -> str:
        result: Result = ibi(*arguments)  # type: ignore[operator]
        assert result.exit_code == 0, (arguments, result.output, result.exception)
        return str(result.stdout)

    def document(*arguments: str) -> dict[str, object]:
        lines = [line for line in done(*arguments, "--json").splitlines() if line.startswith("{")]
        found = json.loads(lines[-1])
        assert isinstance(found, dict)
        return found

    made = document("deposit", "a.txt", "--title", "Uma tese", "--alternate", f"ibi:{LISE}")
    other = document("deposit", "a.txt", "--title", "Outra", "--alternate", f"ibi:{OTHER}", "--edition-of", LISE)
    rep = made["rep"]
    for name in (LISE, LINK):
        assert document("show", name)["rep"] == rep
        assert document("update", name, "--title", f"Uma tese {len(name)}")["rep"] == rep
        assert "Uma tese" in done("show", name, "--version", "1")
        assert len(done("versions", name).splitlines()) >= 2
        done("get", name, f"files-{len(name)}")
        done("stats", name)
        assert document("restore", name, "--version", "1")["rep"] == rep
    done("relate", LISE, "--next-edition", OTHER, "--undo")
    assert document("relate", LISE, "--metadata", OTHER)["item"]["metadata_item"]["rep"] == other["rep"]  # type: ignore[index]
    done("relate", OTHER, "--metadata-of", LINK, "--undo")
    taken: Result = ibi("deposit", "a.txt", "--title", "x", "--alternate", f"ibi:{LISE}")  # type: ignore[operator]
    assert taken.exit_code == 1
    assert f"{LISE} is another name of {rep} already" in str(taken.exception)
    done("delete", OTHER, "--reason", "test", "--replaced-by", LISE)


def test_commands_on_a_data_directory(tmp_path: Path) -> None:
    runner = CliRunner(env={**UNSET, "IBI_LOCK_DIR": str(tmp_path / "locks")})

    def ibi(*arguments: str) -> Result:
        umask = os.umask(0o022)
        try:
            return runner.invoke(command, [*arguments, "--data", str(tmp_path / "data")])
        finally:
            os.umask(umask)

    assert ibi("init", "--host", "lab.br").exit_code == 0
    check_commands(ibi)
    assert "1 items read, all whole" in ibi("verify", LISE).stdout
    assert "1 items read, all whole" in ibi("verify", LINK).stdout
    lines = ibi("audit", LISE).stdout.splitlines()
    assert lines
    assert lines == ibi("audit", LINK).stdout.splitlines()
    unknown = ibi("deposit", "a.txt", "--title", "x", "--edition-of", "aB/cD")
    assert isinstance(unknown.exception, InvalidLabel)


def test_commands_on_a_server(tmp_path: Path) -> None:
    with unstarted_records_app(tmp_path / "data") as app, running(app.app) as server:
        token = app.bearer()["authorization"].removeprefix("Bearer ")
        runner = CliRunner(env={**UNSET, "IBI_SERVER": server.url, "IBI_TOKEN": token})
        check_commands(lambda *arguments: runner.invoke(command, list(arguments)))
