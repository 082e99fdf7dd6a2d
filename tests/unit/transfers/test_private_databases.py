"""Databases that hold tokens, or what is between two Archives alone, are for their owner; a token goes with its job."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ibi.claims.store import SqliteNotifications
from ibi.copies.ports import WantedCopies
from ibi.copies.store.copy_jobs import SqliteCopyJobs
from ibi.standard.label import Label, RepositoryName
from ibi.standard.messages.identification import LabelForms
from ibi.standard.signing import SigningKey
from ibi.transfers.model import IncomingTransfer, OutgoingTransfer, ReceiverStage, SenderStage
from ibi.transfers.store.releases import SqliteChainStore
from ibi.transfers.store.transfers import SqliteTransferLedger

TOKEN = "ibi_secret-that-is-shown-to-another-Archive"
REP = RepositoryName.parse("lab.br/arq/2010/01.02.03.04")
LABELS = LabelForms(REP)
GIVER: Label = RepositoryName.parse("a.example/ibi/2020/01.01.00.00")


def modes(folder: Path) -> dict[str, int]:
    return {each.name: stat.S_IMODE(each.stat().st_mode) for each in folder.glob("*.sqlite*")}


def kept(folder: Path) -> bytes:
    return b"".join(each.read_bytes() for each in folder.glob("*.sqlite*"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    tmp_path.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("store", [SqliteCopyJobs, SqliteTransferLedger, SqliteChainStore, SqliteNotifications])
@pytest.mark.parametrize("is_open_to_all", [False, True])
def test_all_files_are_for_their_owner(folder: Path, store: Callable[[Path], Any], *, is_open_to_all: bool) -> None:
    before = os.umask(0o022)
    try:
        if is_open_to_all:  # as an earlier version has left it
            store(folder).close()
            for each in folder.glob("*.sqlite*"):
                each.chmod(0o644)
        opened = store(folder)
        try:
            assert len(modes(folder)) >= 1
            assert set(modes(folder).values()) == {0o600}
        finally:
            opened.close()
    finally:
        os.umask(before)


@pytest.mark.parametrize("cancelled", [False, True])
def test_the_token_of_a_job_goes_with_it(folder: Path, *, cancelled: bool) -> None:
    jobs = SqliteCopyJobs(folder)
    job = jobs.create(WantedCopies((REP,), "https://a.example", TOKEN, "Ana", None), 1)
    assert jobs.token(job.id) == TOKEN
    assert jobs.end(job.id, 2, cancelled=cancelled)
    assert jobs.token(job.id) is None
    assert TOKEN.encode() not in kept(folder)
    jobs.close()
    assert TOKEN.encode() not in kept(folder)


@pytest.mark.parametrize("stage", [SenderStage.DONE, SenderStage.DECLINED, SenderStage.WITHDRAWN])
def test_the_token_of_a_transfer_that_was_sent_goes_with_it(folder: Path, stage: SenderStage) -> None:
    ledger = SqliteTransferLedger(folder, folder / "locks")
    begun = OutgoingTransfer(LABELS, "https://b.example", "https://a.example", token=TOKEN)
    assert ledger.change_outgoing(REP, lambda _: begun).token == TOKEN
    ended = OutgoingTransfer(LABELS, "https://b.example", "https://a.example", stage, token=TOKEN)
    assert ledger.change_outgoing(REP, lambda _: ended).token is None
    assert TOKEN.encode() not in kept(folder)
    ledger.close()
    assert TOKEN.encode() not in kept(folder)


@pytest.mark.parametrize("stage", [ReceiverStage.TAKEN, ReceiverStage.DECLINED, ReceiverStage.ENDED])
def test_the_token_of_a_transfer_that_came_goes_with_it(folder: Path, stage: ReceiverStage) -> None:
    ledger, key = SqliteTransferLedger(folder, folder / "locks"), SigningKey(b"k" * 32).public

    def at(stage: ReceiverStage) -> IncomingTransfer:
        return IncomingTransfer(LABELS, GIVER, key, "https://a.example", 1, "0" * 128, stage, token=TOKEN)

    assert ledger.change_incoming(REP, lambda _: at(ReceiverStage.WAITING)).token == TOKEN
    assert ledger.change_incoming(REP, lambda _: at(stage)).token is None
    assert TOKEN.encode() not in kept(folder)
    ledger.close()
    assert TOKEN.encode() not in kept(folder)
