"""Every error that people are told of is translated: its sentence, and the clauses in it."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import ibi
from ibi.collections.model import CollectionSearch, InvalidCollection, ItemCollection
from ibi.following.service.subscriptions import UnknownFollow
from ibi.items.rules.life_cycle import REFUSALS, Act
from ibi.standard.instant import Instant
from ibi.web.reader import PAGE_LANGUAGES, translations
from ibi.web.request_errors import BATCH_TOO_SLOW, ITEM_TOO_SLOW, READ_OF, READ_SO_FAR
from tests.support.raised_errors import error_classes
from tools.messages import error_template, messages

TRANSLATED = PAGE_LANGUAGES[1:]
PACKAGE = Path(ibi.__file__).parent
SHELL = (
    "account_forms",
    "admin_shell",
    "appearance",
    "atom",
    "drawings",
    "middleware",
    "page_answers",
    "reader",
    "rendering",
    "words",
)
PAGES = sorted(
    [*PACKAGE.glob("*/pages.py"), *PACKAGE.glob("*/pages/*.py"), *(PACKAGE / "web" / f"{name}.py" for name in SHELL)]
)


def test_every_error_that_people_are_told_of_is_translated() -> None:
    """The extraction goes by files, this test by subclasses; `test_translation` compares the messages with the
    catalogues."""
    told = {error_template(kind) for kind in error_classes() if kind.kind.is_told}
    assert {each for each in told - messages() if re.search("[a-z]", re.sub(r"{[a-z_]+}", "", each))} == set()


def test_an_error_that_only_the_log_has_is_not_translated() -> None:
    told = {error_template(kind) for kind in error_classes() if kind.kind.is_told}
    assert {error_template(kind) for kind in error_classes()} & messages() <= told


def test_every_template_of_an_error_is_translated() -> None:
    """Errors with several templates choose one by their parameters."""
    assert {ITEM_TOO_SLOW, BATCH_TOO_SLOW, READ_SO_FAR, READ_OF} <= messages()


@pytest.mark.parametrize("language", TRANSLATED)
def test_an_error_of_a_request_is_told_in_the_language_of_the_reader(language: str) -> None:
    gettext = translations(language).gettext
    error = UnknownFollow(id=7)
    assert error.message(gettext) != error.message()
    assert "ibi follow list" in error.message(gettext)


def test_every_refusal_of_an_act_is_marked() -> None:
    assert {act.value for act in Act} | {reason for _, reason in REFUSALS.values()} <= messages()


@pytest.mark.parametrize("language", TRANSLATED)
def test_an_act_that_is_refused_is_told_in_one_language(language: str) -> None:
    gettext = translations(language).gettext
    for (_, act), (kind, reason) in REFUSALS.items():
        said = kind(label="a/b", act=act.value, reason=reason).message(gettext)
        assert act.value not in said
        assert reason not in said


WRONG: tuple[dict[str, object], ...] = (
    {"name": "A B"},
    {"name": "new"},
    {"title": " "},
    {"title": "x" * 1000},
    {"description": "a\x00b"},
    {"search": CollectionSearch()},
    {"search": CollectionSearch(text="x" * 2000)},
)


@pytest.mark.parametrize("language", TRANSLATED)
@pytest.mark.parametrize("wrong", WRONG)
def test_every_fault_of_a_collection_is_translated(language: str, wrong: dict[str, object]) -> None:
    right: dict[str, object] = {"name": "a", "title": "A", "created": Instant(0), "changed": Instant(0)}
    with pytest.raises(InvalidCollection) as refused:
        ItemCollection(**{**right, **wrong})  # type: ignore[arg-type]
    error, gettext = refused.value, translations(language).gettext
    assert error.clause("reason", gettext) != error.clause("reason")
    assert error.clause("reason") not in error.message(gettext)


@pytest.mark.parametrize("module", PAGES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_no_page_shows_an_error_as_it_stands(module: Path) -> None:
    """`str(error)` is English: for logs alone."""
    for call in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(call, ast.Call) and not ast.unparse(call.func).startswith("_LOG."):
            values = [*call.args, *(each.value for each in call.keywords)]
            assert not [each for each in values if "str(error)" in ast.unparse(each)], ast.unparse(call)
