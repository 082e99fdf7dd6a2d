"""The table of the page about rights is the one that decides."""

from __future__ import annotations

from pathlib import Path

from ibi.items.rules.rights import SITE_TABLE, TABLE, ItemAct, Whose, least_scope
from ibi.people.model.account import Scope
from tests.docs.tables import rows

HEADER = ["", "own", "another's or the Archive's", "the Archive's own item"]
PAGE = Path(__file__).parents[2] / "docs" / "rights.md"


def _cell(act: ItemAct, whose: Whose) -> str:
    scopes = TABLE[act, whose]
    return f"{least_scope(act, whose)}, copy" if Scope.COPY in scopes else str(least_scope(act, whose))


def test_the_page_has_every_cell_of_the_table() -> None:
    expected = [[act.value, *(_cell(act, whose) for whose in Whose)] for act in ItemAct]
    found = [list(row.values()) for row in rows(PAGE, HEADER)]
    assert sorted(found) == sorted(expected)


def test_the_page_has_every_act_on_the_archive_as_a_whole() -> None:
    expected = [
        [act.value, str(next(scope for scope in Scope if scope in scopes))] for act, scopes in SITE_TABLE.items()
    ]
    found = [list(row.values()) for row in rows(PAGE, ["", "scope"])]
    assert sorted(found) == sorted(expected)
