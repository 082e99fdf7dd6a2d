"""CHANGELOG.md: the form of Keep a Changelog, the version of the package, and only settings that exist."""

from __future__ import annotations

import re

import ibi
from ibi.settings import SETTINGS
from tests.docs.tables import ROOT, code_spans

TEXT = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
CATEGORIES = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
VERSION = re.compile(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2}|not yet tagged)")


def versions() -> list[str]:
    """The headings of versions, the newest first, without the one for what comes next."""
    first, *others = re.findall(r"^## (.+)$", TEXT, re.MULTILINE)
    assert first == "[Unreleased]"
    return others


def test_the_newest_version_of_the_changelog_is_that_of_the_package() -> None:
    newest = VERSION.fullmatch(versions()[0])
    assert newest
    assert newest[1] == ibi.__version__


def test_every_version_before_the_newest_has_a_date() -> None:
    for heading in versions()[1:]:
        found = VERSION.fullmatch(heading)
        assert found, heading
        assert found[2] != "not yet tagged", heading


def test_changes_are_grouped_by_the_usual_categories() -> None:
    assert set(re.findall(r"^### (.+)$", TEXT, re.MULTILINE)) <= CATEGORIES


def test_a_setting_that_the_changelog_names_exists() -> None:
    named = {span for span in code_spans(TEXT) if re.fullmatch(r"(archive|resolve|mint|site)\.[a-z_]+", span)}
    assert named
    assert named <= {one.name for one in SETTINGS}
