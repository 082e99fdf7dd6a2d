"""R §9.1: the three requests that an Archive answers, sent to it as it serves them."""

from __future__ import annotations

import pytest

from tests.conformance.resolution.section_6_2.test_example_6_2_archive import BODY as EXAMPLE_6_2
from tests.conformance.resolution.section_10.test_section_10_1_archive import BODY as EXAMPLE_10_1
from tests.conformance.resolution.section_10.test_section_10_1_archive import REQUEST as REQUEST_OF_10_1
from tests.support.archive_app import ArchiveApp, archive_app
from tests.support.standards_archives import MTC_M16C, MTC_M16D, StandardsArchive

M16C = "/sid.inpe.br/mtc-m18@80/2008/03.17.15.17"
M16D = "/sid.inpe.br/mtc-m19@80/2009/08.21.17.02"
EXAMPLE_6_1 = (
    f"{M16D}?servicesubject=urlRequest&clientinformation.ipaddress=150.163.2.175&parsedibiurl.ibi=8JMKD3MGP7W/3EPGUE5"
)


def serving(archive: StandardsArchive) -> ArchiveApp:
    return archive_app(profile=archive.profile, catalog=archive.catalog)


def without_key(body: bytes) -> bytes:
    return body.rpartition(b"urlkey ")[0]


async def test_example_6_1_is_answered_by_example_6_2_byte_for_byte_but_for_the_key() -> None:
    answer = await serving(MTC_M16D).get(EXAMPLE_6_1)
    assert (answer.status, answer.headers["content-type"]) == (200, "text/plain")
    assert without_key(answer.body) == without_key(EXAMPLE_6_2)


async def test_the_request_of_10_1_is_answered_byte_for_byte_but_for_the_key() -> None:
    answer = await serving(MTC_M16C).get(f"{M16C}?{REQUEST_OF_10_1}")
    assert without_key(answer.body) == without_key(EXAMPLE_10_1)


async def test_the_other_archive_of_10_1_answers_with_nothing() -> None:
    answer = await serving(MTC_M16D).get(f"{M16D}?{REQUEST_OF_10_1}")
    assert (answer.status, answer.body, answer.headers["content-type"]) == (200, b"", "text/plain")


async def test_the_acknowledgment_of_10_1_is_received() -> None:
    answer = await serving(MTC_M16C).get(
        f"{M16C}?clientinformation.ipaddress=172.16.44.200%20150.163.68.1&contenttype=Data&"
        "ibi=rep%20sid.inpe.br/mtc-m18@80/2009/07.21.14.43%20ibip%208JMKD3MGP8W/35MMLL8&"
        "servicesubject=acknowledgment&state=Original&"
        "url=http://mtc-m16c.sid.inpe.br/col/sid.inpe.br/mtc-m18@80/2009/07.21.14.43/doc/CCSDS%20650.0-B-1.pdf&"
        "url.persistent=http://urlib.net:80/8JMKD3MGP8W/35MMLL8&urlkey=1427244889-5349022633744855"
    )
    assert (answer.status, answer.body) == (200, b"notice {acknowledgment received}")


async def test_a_request_for_confirmation_is_confirmed() -> None:
    answer = await serving(MTC_M16C).get(f"{M16C}?servicesubject=inclusionConfirmationRequest")
    assert (answer.status, answer.body) == (200, b"confirmation yes")


@pytest.mark.parametrize("method", ["HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
async def test_every_request_is_a_get(method: str) -> None:
    """R §6.1."""
    answer = await serving(MTC_M16D).get(EXAMPLE_6_1, method=method)
    assert (answer.status, answer.headers["allow"], answer.headers["content-type"]) == (405, "GET", "text/plain")
    assert answer.body.startswith(b"error {")
