"""E63: an Archive that gave an Original away answers as R says, and names the Archive that has it."""

from __future__ import annotations

import pytest

from ibi.items.model.transfer_record import Transfer
from ibi.membership.client.archive_replies import reply_of
from ibi.net.http_connection import HttpResponse
from ibi.standard.instant import Instant
from ibi.standard.label import Label, parse
from ibi.standard.messages import Deletion, State, UrlList
from ibi.standard.reply import Answered
from tests.conformance.resolution.section_10.test_section_10_1 import ANSWER
from tests.support.archive_app import IBIP, NOW, OTHER, REP, archive_app, kept
from tests.support.flat_items import replace
from tests.support.standards_archives import forms
from tests.unit.archive.test_service import url_request

TO = parse("other.br/arq/2020/01.01.00.00")
GONE = Transfer(forms(REP, IBIP), TO, NOW)


class AllFinal:
    """The port `GivenOut`."""

    prompt = True

    def is_final(self, _label: Label) -> bool:
        return True


@pytest.mark.parametrize("ibi", [REP, IBIP])
async def test_an_empty_answer_names_who_has_the_original(ibi: str) -> None:
    app = archive_app(kept(REP, IBIP), given_out=AllFinal())
    app.catalog.depart(GONE)
    for _ in range(2):
        answer = await app.get(url_request(ibi=ibi))
        assert (answer.status, answer.body) == (200, b"")
        assert answer.headers["ibi-transferred-to"] == str(TO)
        assert answer.headers["cache-control"] == "no-store"
        assert "ibi-final" not in answer.headers


async def test_a_copy_names_it_too_and_may_be_kept() -> None:
    item, content = kept(REP, IBIP)
    app = archive_app((replace(item, state=State.COPY, transferred_to=TO), content))
    for more in ("", "&parsedibiurl.verb=%21"):
        answer = await app.get(url_request(more=more))
        assert answer.headers["ibi-transferred-to"] == str(TO)
        assert answer.headers["cache-control"] == "max-age=300"
    assert b"state Copy" in (await app.get(url_request())).body


async def test_others_name_no_one() -> None:
    app = archive_app(kept(REP, IBIP))
    for ibi in (REP, OTHER):
        assert "ibi-transferred-to" not in (await app.get(url_request(ibi=ibi))).headers


@pytest.mark.parametrize(
    "value",
    [b"no label", b"other.br/arq/2020/01.01.00.00, other.br/arq/2020/01.01.00.01", "é/2".encode(), b"a" * 600, b" "],
)
def test_what_is_no_single_label_is_ignored(value: bytes) -> None:
    assert reply_of(HttpResponse(200, b"", transferred_to=value)) == Answered(None)


def test_an_original_and_a_tombstone_were_not_transferred() -> None:
    original = reply_of(HttpResponse(200, ANSWER, b"text/plain", transferred_to=str(TO).encode()))
    assert isinstance(original, Answered)
    assert isinstance(original.answer, UrlList)
    assert original.transferred_to is None
    copy = reply_of(
        HttpResponse(200, ANSWER.replace(b"Original", b"Copy"), b"text/plain", b"", b"", b"", b"a.br/b/2/1")
    )
    assert isinstance(copy, Answered)
    assert copy.transferred_to is None
    copied = HttpResponse(200, ANSWER.replace(b"Original", b"Copy"), b"text/plain", transferred_to=str(TO).encode())
    read = reply_of(copied)
    assert isinstance(read, Answered)
    assert read.transferred_to == TO
    tombstone = Deletion("arq.lab.br", forms(OTHER), None, forms(REP), Instant(0)).encode()
    deletion = reply_of(HttpResponse(200, tombstone, b"text/plain", transferred_to=str(TO).encode()))
    assert isinstance(deletion, Answered)
    assert isinstance(deletion.answer, Deletion)
    assert deletion.transferred_to is None
