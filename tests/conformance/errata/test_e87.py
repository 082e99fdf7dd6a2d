"""E87: items of a sandbox never leave their machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from ibi.copies.rules.copies import CopyRules, SandboxItem
from tests.support.copy_world import object_said, original, source_archive, taker

LABEL = "localhost/ibi.8765/2026/01.02.03.04"


def test_an_archive_that_is_no_sandbox_refuses_them(tmp_path: Path) -> None:
    one, contents = original(LABEL)
    with source_archive(object_said(one, sandbox=True), contents) as source, taker(tmp_path) as here:
        with pytest.raises(SandboxItem, match="never leaves its machine"):
            here.copying.bring(one.rep, source.url)
        assert source.asked == []


def test_a_sandbox_takes_them_over_loopback(tmp_path: Path) -> None:
    one, contents = original(LABEL)
    rules = CopyRules(is_sandbox=True)
    with source_archive(object_said(one, sandbox=True), contents) as source, taker(tmp_path, rules) as here:
        assert here.copying.bring(one.rep, source.url).is_new
