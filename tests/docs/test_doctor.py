"""docs/doctor.md names every fault that `ibi doctor` tells, and no other."""

from __future__ import annotations

import re

from ibi.membership.store.archive_state import ArchiveRecordDamaged
from ibi.membership.store.key_files import KeyDamaged
from ibi.minting.rules.errors import IdentityChanged, SandboxIsFinal
from ibi.minting.rules.mint_log import LogBroken
from ibi.resolver.opening.register import MailIncomplete
from ibi.storage.errors import DataDirectoryCopied
from tests.docs.tables import ROOT, code_spans, rows

TOLD = re.compile(r'(?:Diagnosis|tally\.add|from_error)\(\s*"([a-z-]+)"|\(\s*"(draft-[a-z]+)"')
CODES = (
    *(ArchiveRecordDamaged, KeyDamaged, LogBroken, IdentityChanged, SandboxIsFinal),
    *(DataDirectoryCopied, MailIncomplete),
)
"""Errors that are told under their own code."""


def test_every_fault_is_explained() -> None:
    explained = rows(ROOT / "docs" / "doctor.md", ["Check", "Means"])
    modules = [*(ROOT / "src/ibi/doctor").glob("*.py"), ROOT / "src/ibi/doctor/cli/doctor.py"]
    told = {one or other for module in modules for one, other in TOLD.findall(module.read_text())}
    named = [name for row in explained for name in code_spans(row["Check"])]
    assert sorted(named) == sorted(told | {error.code for error in CODES})
