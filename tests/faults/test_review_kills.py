"""A server that dies between a publication and the note of it in the review: the item is there once, and says so."""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from ibi.deposits.model import ReviewState
from ibi.deposits.rules.drafts import DraftRules, UnderReview
from ibi.deposits.service.drafts import Drafts
from ibi.deposits.service.ledger import Depositor
from ibi.deposits.service.reviews import Submitted
from ibi.deposits.store.draft_files import DraftFiles
from ibi.deposits.store.reviews import SqliteReviews
from ibi.items.model.item import Description
from ibi.items.model.metadata import DescriptiveMetadata, Text
from ibi.items.opening.archive_store import open_store
from ibi.people.model.account import Scope
from ibi.standard.vocabulary import State
from tests.faults.killer import PYTHONPATH
from tests.support.deposit_samples import CountedLabels
from tests.support.set_clocks import SetClocks

ANA = Depositor("person:ana", "ana")
LIA = Depositor("person:lia", "lia", Scope.EDIT)
STEPS = {
    "item": "DraftFiles.conclude = die; Reviews.note_published = die",
    "note": "DraftFiles.conclude = die",
    "draft": "DraftFiles._remove_folder = die",
}
"""The call at which the process dies: after the item is there, after the note, and after the draft says it."""


def open_drafts(data: Path, opened: ExitStack) -> Drafts:
    store, clocks = opened.enter_context(open_store(data)), SetClocks()
    reviews = opened.enter_context(closing(SqliteReviews(data)))
    return Drafts(DraftFiles(data, clocks), store, clocks, DraftRules(10**6, 30), reviews=reviews, is_reviewed=True)


def publish(data: Path, draft: str) -> None:
    with ExitStack() as opened:
        open_drafts(data, opened).publish(LIA, draft, CountedLabels())


@pytest.mark.parametrize("step", STEPS)
def test_a_kill_after_the_publication_leaves_one_item_and_a_review_that_says_so(tmp_path: Path, step: str) -> None:
    with ExitStack() as opened:
        drafts = open_drafts(tmp_path, opened)
        described = Description(metadata=DescriptiveMetadata(title=(Text("Uma tese"),)))
        draft = drafts.begin(ANA, described).record.id
        upload = drafts.uploads.begin(ANA, draft, "a.txt", 1)
        upload.write(b"x")
        upload.finish(None)
        assert isinstance(drafts.publish_or_submit(ANA, draft, CountedLabels()), Submitted)
    done = die_at(step, tmp_path, draft)
    assert done.returncode == -signal.SIGKILL
    with ExitStack() as opened:
        drafts = open_drafts(tmp_path, opened)
        assert drafts.reviews is not None
        drafts.sweep()  # as a server that starts does
        found = drafts.reviews.look(ANA, draft)
        assert found.review.state is ReviewState.PUBLISHED
        assert drafts.reviews.waiting(LIA) == ()
        again = drafts.publish(LIA, draft, CountedLabels())
        assert str(again.item.rep) == found.review.label
        assert again.item.owner == "person:ana"


def die_at(step: str, data: Path, draft: str) -> subprocess.CompletedProcess[bytes]:
    """A process that is killed while it publishes the draft."""
    script = f"""
import os, signal
from pathlib import Path
from ibi.deposits.service.reviews import Reviews
from ibi.deposits.store.draft_files import DraftFiles
from tests.faults.test_review_kills import publish
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
{STEPS[step]}
publish(Path({str(data)!r}), {draft!r})
"""
    return subprocess.run(
        [sys.executable, "-c", script],
        check=False,
        timeout=120,
        env={"PYTHONPATH": PYTHONPATH, "PATH": "/usr/bin:/bin"},
    )


@pytest.mark.parametrize("step", ["item", "note", "draft"])
def test_a_kill_after_a_deletion_leaves_a_review_that_says_so(tmp_path: Path, step: str) -> None:
    with ExitStack() as opened:
        drafts = open_drafts(tmp_path, opened)
        draft = drafts.begin(ANA, Description(metadata=DescriptiveMetadata(title=(Text("Uma tese"),)))).record.id
        upload = drafts.uploads.begin(ANA, draft, "a.txt", 1)
        upload.write(b"x")
        upload.finish(None)
        label = drafts.publish(LIA, draft, CountedLabels()).item.rep
        asked = drafts.delete_or_ask(ANA, label, "wrong", None)
        assert isinstance(asked, Submitted)
        draft = asked.review.draft
    done = die_at(step, tmp_path, draft)
    assert done.returncode == -signal.SIGKILL
    with ExitStack() as opened:
        drafts = open_drafts(tmp_path, opened)
        assert drafts.reviews is not None
        drafts.sweep()
        assert drafts.reviews.look(ANA, draft).review.state is ReviewState.PUBLISHED
        assert drafts.reviews.waiting(LIA) == ()
        again = drafts.publish(LIA, draft, CountedLabels())
        assert (again.is_deletion, again.item.state, again.item.rep) == (True, State.DELETED, label)
        assert again.item.version == 2


def test_another_process_does_not_change_what_waits(tmp_path: Path) -> None:
    with ExitStack() as opened:
        first, second = open_drafts(tmp_path, opened), open_drafts(tmp_path, opened)
        draft = first.begin(ANA, Description(metadata=DescriptiveMetadata(title=(Text("Uma tese"),)))).record.id
        late = second.uploads.begin(ANA, draft, "a.txt", 1)
        upload = first.uploads.begin(ANA, draft, "b.txt", 1)
        upload.write(b"x")
        upload.finish(None)
        first.publish_or_submit(ANA, draft, CountedLabels())
        late.write(b"x")
        with pytest.raises(UnderReview):  # a file that was on its way does not come in any more
            late.finish(None)
        late.abandon()
        assert [file.path for file in second.find(ANA, draft).files] == ["b.txt"]
