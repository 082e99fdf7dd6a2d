"""The status, the exit code and the words of every error code stay as they were when the code was released."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

import ibi.command.root
from ibi.command import main
from ibi.standard.errors import IbiError
from ibi.web.errors import UNTOLD, problem
from tests.support.raised_errors import error_classes, raised

RECORDED: dict[str, dict[str, object]] = json.loads(
    Path(__file__).with_name("error_statuses.json").read_text(encoding="utf-8")
)
"""For each released class: the code, the status, `told` (clients get the message, not only the log), the part of the
request that it names, and the exit code of a command that it ends. Add new classes when a version is released."""
CODES = {str(answer["code"]): answer for answer in RECORDED.values()}
CLASSES = sorted(error_classes(), key=lambda kind: kind.__name__)


def exit_code(error: IbiError, monkeypatch: pytest.MonkeyPatch) -> object:
    """The exit code of `ibi` if a command raises this error."""

    @click.command()
    def failing() -> None:
        raise error

    monkeypatch.setattr(ibi.command.root, "app", failing)
    with pytest.raises(SystemExit) as ended:
        main([])
    return ended.value.code


def answered(error: IbiError) -> dict[str, object]:
    answer = problem(error)
    body = json.loads(bytes(answer.body))
    told = body["detail"] == str(error)
    assert told or body["detail"] == UNTOLD
    return {"code": error.code, "status": answer.status_code, "told": told, "field": body.get("field")}


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)
def test_an_error_is_answered_as_when_its_code_was_released(
    kind: type[IbiError], monkeypatch: pytest.MonkeyPatch
) -> None:
    error = raised(kind)
    now = {**answered(error), "exit": exit_code(error, monkeypatch)}
    assert now == RECORDED.get(kind.__name__, CODES.get(kind.code, now))


def test_no_code_that_was_released_is_gone() -> None:
    assert set(CODES) - {kind.code for kind in CLASSES} == set()


def test_all_classes_of_one_code_are_answered_alike() -> None:
    assert all(CODES[str(answer["code"])] == answer for answer in RECORDED.values())


def test_names_of_error_classes_are_unique() -> None:
    assert len(CLASSES) == len({kind.__name__ for kind in CLASSES})
