"""E62: an empty answer says whether it is final. The body stays what R Algorithm 2 says: nothing."""

from __future__ import annotations

import pytest

from ibi.membership.client.archive_replies import reply_of
from ibi.net.http_connection import HttpResponse
from ibi.standard.label import Label, parse
from ibi.standard.reply import Answered
from tests.conformance.resolution.section_10.test_section_10_1 import ANSWER
from tests.support.archive_app import IBIP, OTHER, REP, archive_app, deleted, kept
from tests.unit.archive.test_service import url_request


class Record:
    """What is certain, by hand."""

    prompt = True

    def __init__(self) -> None:
        self.final: set[Label] = {parse(OTHER)}
        self.asked: list[Label] = []

    def is_final(self, label: Label) -> bool:
        self.asked.append(label)
        return label in self.final


async def test_only_an_empty_answer_is_final() -> None:
    record = Record()
    app = archive_app(kept(REP, IBIP), deleted("lab.br/arq/2009/07.21.14.44"), given_out=record)
    for ibi, final in ((OTHER, "yes"), (REP, None), (IBIP, None), ("lab.br/arq/2009/07.21.14.44", None)):
        answer = await app.get(url_request(ibi=ibi))
        assert (answer.status, answer.headers.get("ibi-final")) == (200, final)
        assert bool(answer.body) == (final is None)
    assert record.asked == [parse(OTHER)]  # what is here costs nothing


async def test_finality_is_judged_anew_for_every_answer() -> None:
    record = Record()
    app = archive_app(given_out=record)
    for final in ("yes", "yes", "no", "no"):
        answer = await app.get(url_request(ibi=OTHER))
        assert (answer.body, answer.headers.get("ibi-final")) == (b"", final)
        assert answer.headers["cache-control"] == "no-store"
        if len(record.asked) == 2:
            record.final.clear()


async def test_where_nothing_is_certain_the_archive_says_so() -> None:
    answer = await archive_app().get(url_request(ibi=OTHER))
    assert (answer.body, answer.headers["ibi-final"]) == (b"", "no")


@pytest.mark.parametrize(
    ("value", "final"),
    [
        (b"yes", True),
        (b"", None),
        (b"no", False),
        (b"\tno ", False),
        (b"YES", None),
        (b"No", None),
        (b"yes, yes", None),
        (b"no, yes", None),
        (b" yes\t", True),
        (b"y es", None),
    ],
)
def test_the_header_of_a_final_answer_is_read_strictly(value: bytes, final: bool | None) -> None:
    assert reply_of(HttpResponse(200, b"", final=value)) == Answered(None, 0, final=final)


def test_the_header_means_nothing_beside_an_answer_or_a_transfer() -> None:
    about_something = reply_of(HttpResponse(200, ANSWER, b"text/plain", final=b"yes"))
    assert isinstance(about_something, Answered)
    assert about_something.final is None
    transferred = HttpResponse(200, b"", final=b"yes", transferred_to=OTHER.encode())
    assert reply_of(transferred) == Answered(None, 0, transferred_to=parse(OTHER))
