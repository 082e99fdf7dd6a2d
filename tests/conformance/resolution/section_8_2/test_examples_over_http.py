"""R Examples 8.8 and 8.9 through the whole resolver: what it keeps to itself, and how it thanks."""

from __future__ import annotations

from tests.support.printed_archives import printed_network

EXAMPLE_8_8 = "/LK47B6W/362SFKH+?ibiurl.requireditemstatus=Original&ibiurl.verblist=GetMetadata"
ASKED = (
    "clientinformation.ipaddress=150.163.2.175&"
    "parsedibiurl.ibi=LK47B6W/362SFKH&"
    "parsedibiurl.verblist=GetTranslation%20GetMetadata&"
    "servicesubject=urlRequest"
)
# Ours: metadata of two translations, of which the reader's languages choose one.
TRANSLATIONS = b"\r\n".join(
    [
        b"archiveaddress mtc-m16d.sid.inpe.br",
        b"contenttype.translation(en).metadata Metadata",
        b"contenttype.translation(fr).metadata Metadata",
        b"ibi {rep iconet.com.br/banon/2009/09.09.22.01 ibip LK47B6W/362SFKH}",
        b"ibi.archiveservice {rep sid.inpe.br/mtc-m19@80/2009/08.21.17.02}",
        b"ibi.platformsoftware {}",
        b"state.translation(en).metadata Original",
        b"state.translation(fr).metadata Original",
        b"url.translation(en).metadata http://mtc-m16d.sid.inpe.br/en",
        b"url.translation(fr).metadata http://mtc-m16d.sid.inpe.br/fr",
    ]
)
COPIES = TRANSLATIONS.replace(b"Original", b"Copy")

# R Example 6.2, with the key of Example 8.9.
EXAMPLE_6_2 = b"\r\n".join(
    [
        b"archiveaddress mtc-m16d.sid.inpe.br",
        b"contenttype Data",
        b"ibi {rep sid.inpe.br/mtc-m19/2013/09.04.12.27.57 ibip 8JMKD3MGP7W/3EPGUE5}",
        b"ibi.archiveservice {rep sid.inpe.br/mtc-m19@80/2009/08.21.17.02}",
        b"ibi.platformsoftware {rep dpi.inpe.br/banon/1998/08.02.08.56}",
        b"state Original",
        b"timestamp 2013-10-04T14:32:14Z",
        b"url http://mtc-m16d.sid.inpe.br/col/sid.inpe.br/mtc-m19/2013/09.04.12.27.57/doc/Relat%f3rio%20Final.pdf",
        b"urlkey 1424636122-5331490054869684",
    ]
)
REPORT = "clientinformation.ipaddress=150.163.2.175&parsedibiurl.ibi=8JMKD3MGP7W/3EPGUE5&servicesubject=urlRequest"
# By name (E27), with the state, which is always sent (E19).
EXAMPLE_8_9 = (
    "clientinformation.ipaddress=150.163.2.175&"
    "contenttype=Data&"
    "ibi=rep%20sid.inpe.br/mtc-m19/2013/09.04.12.27.57%20ibip%208JMKD3MGP7W/3EPGUE5&"
    "servicesubject=acknowledgment&"
    "state=Original&"
    "url=http://mtc-m16d.sid.inpe.br/col/sid.inpe.br/mtc-m19/2013/09.04.12.27.57/doc/Relat%f3rio%20Final.pdf&"
    "url.persistent=http://mtc-m16d.sid.inpe.br:80/8JMKD3MGP7W/3EPGUE5&"
    "urlkey=1424636122-5331490054869684"
)


def test_archives_learn_neither_the_languages_nor_that_the_original_is_required() -> None:
    with printed_network({}, {ASKED: TRANSLATIONS}) as network:
        languages = "pt-br,fr;q=0.8,en;q=0.5,pt;q=0.3"
        found = network.resolver.location(EXAMPLE_8_8, Accept_Language=languages)
        assert found == "http://mtc-m16d.sid.inpe.br/fr"
        network.check_asked(of_c=[ASKED], of_d=[ASKED])


def test_a_copy_will_not_do_and_no_archive_is_thanked_for_it() -> None:
    with printed_network({}, {ASKED: COPIES}) as network:
        answer, said = network.resolver.get(EXAMPLE_8_8, Accept_Language="fr")
        assert (answer.status, said["type"]) == (404, "urn:ibi:problem:original-not-found")
        network.check_asked(of_c=[ASKED], of_d=[ASKED])


def test_the_archive_is_thanked_byte_for_byte() -> None:
    """The example's resolver has the Archive's own host (E26)."""
    with printed_network({}, {REPORT: EXAMPLE_6_2}, public_url="http://mtc-m16d.sid.inpe.br") as network:
        url = "http://mtc-m16d.sid.inpe.br/col/sid.inpe.br/mtc-m19/2013/09.04.12.27.57/doc/Relat%f3rio%20Final.pdf"
        assert network.resolver.location("/8JMKD3MGP7W/3EPGUE5") == url
        network.check_asked(of_c=[REPORT], of_d=[REPORT, EXAMPLE_8_9])
