"""docs/settings.md describes every setting, truly and no other; no variable is read that is not one."""

from __future__ import annotations

import re
import tomllib

import pytest

from ibi.settings import SETTINGS, NamedSetting, load_settings
from tests.docs.tables import ROOT, rows

PAGE = ROOT / "docs" / "settings.md"
HEADER = ["Setting", "Variable", "Flag", "Value", "Default", "Meaning"]
ROWS = {row["Setting"]: row for row in rows(PAGE, HEADER)}
VARIABLE = re.compile(r"\bIBI_[A-Z][A-Z_]*[A-Z]\b")


def code(text: str | None) -> str:
    return "–" if text is None else f"`{text}`"


def true_row(one: NamedSetting) -> dict[str, str]:
    cells = [code(one.name), code(one.variable), code(one.flag), one.kind.expected, code(one.default), one.help]
    return dict(zip(HEADER, cells, strict=True))


def line(one: NamedSetting) -> str:
    """What to paste into the page."""
    return f"| {' | '.join(true_row(one).values())} |"


@pytest.mark.parametrize("one", SETTINGS, ids=lambda one: one.name)
def test_every_setting_is_documented_as_it_is(one: NamedSetting) -> None:
    assert ROWS.get(code(one.name)) == true_row(one), f"docs/settings.md should say:\n{line(one)}"


def test_nothing_is_documented_that_is_not_a_setting_and_nothing_twice() -> None:
    assert [row["Setting"] for row in rows(PAGE, HEADER)] == [code(one.name) for one in SETTINGS]


def test_the_example_of_the_page_is_a_file_that_is_accepted(tmp_path_factory: pytest.TempPathFactory) -> None:
    example = re.search(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert example
    file = tmp_path_factory.mktemp("settings") / "ibi.toml"
    file.write_text(example[1], encoding="utf-8")
    settings = load_settings({"config": file}, {})
    assert settings.port == tomllib.loads(example[1])["port"]
    assert settings.identity() is not None


def test_every_variable_named_in_code_or_pages_is_a_setting() -> None:
    known = {one.variable for one in SETTINGS}
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py")]
    for page in pages:
        if page.is_file():
            named = set(VARIABLE.findall(page.read_text(encoding="utf-8")))
            assert named <= known, page
