"""R Example 6.2: the answer to Example 6.1."""

from __future__ import annotations

from ibi.standard.instant import Instant
from ibi.standard.messages import ContentType, LabelForms, State, UrlEntry, UrlKey, UrlList, parse_url_list
from ibi.standard.pairs import Pairs
from ibi.standard.relation import Relation

BODY = "\r\n".join(
    [
        "archiveaddress mtc-m16d.sid.inpe.br",
        "contenttype Data",
        "ibi {rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5}",
        "ibi.archiveservice {rep sid.inpe.br/mtc-m19@80/2009/08.21.17.02}",
        "ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}",
        "state Original",
        "timestamp 2013-10-04T14:32:14Z",
        "url http://mtc-m16d.sid.inpe.br/col/sid.inpe.br/mtc-m19/2013/09.04.12.27.57/doc/Relat%f3rio%20Final.pdf",
        "urlkey 1426203276-5985125171467764",
    ]
).encode()

ANSWER = UrlList(
    archive_address="mtc-m16d.sid.inpe.br",
    archive_service=LabelForms.parse("rep sid.inpe.br/mtc-m19@80/2009/08.21.17.02"),
    platform_software=LabelForms.parse("rep dpi.inpe.br/banon/1998/08.02.08.56"),
    entries=(
        UrlEntry(
            relation=Relation.ITSELF,
            ibi=LabelForms.parse("rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5"),
            url="http://mtc-m16d.sid.inpe.br/col/sid.inpe.br/mtc-m19/2013/09.04.12.27.57/doc/Relat%f3rio%20Final.pdf",
            content_type=ContentType.DATA,
            state=State.ORIGINAL,
            timestamp=Instant.parse("2013-10-04T14:32:14Z"),
        ),
    ),
    url_key=UrlKey("1426203276-5985125171467764"),
)


def test_the_list_is_read_and_written_byte_for_byte() -> None:
    pairs = Pairs.decode(BODY)
    assert len(pairs) == 9
    assert pairs.encode() == BODY


def test_the_escapes_of_the_file_name_are_left_alone() -> None:
    assert str(Pairs.decode(BODY)["url"]).endswith("/Relat%f3rio%20Final.pdf")


def test_the_list_is_the_answer_it_stands_for() -> None:
    assert parse_url_list(Pairs.decode(BODY)) == ANSWER


def test_the_answer_is_written_as_the_list() -> None:
    assert ANSWER.encode() == BODY
