"""R Example 6.2, the Archive's side: the answer to Example 6.1 is made from the item."""

from __future__ import annotations

from ibi.archive.rules.answer import filter_url_list
from ibi.standard.relation import Relation
from tests.support.standards_archives import MTC_M16D, REPORT

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


def test_the_answer_is_assembled_and_filtered_byte_for_byte() -> None:
    answer = filter_url_list(MTC_M16D.assemble(REPORT, key="1426203276-5985125171467764"), Relation.ITSELF)
    assert answer is not None
    assert answer.encode() == BODY
