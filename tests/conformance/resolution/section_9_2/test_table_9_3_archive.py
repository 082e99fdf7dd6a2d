"""R Table 9.3, the Archive's side: what each pair of its answers says."""

from __future__ import annotations

import pytest

from ibi.archive.rules.answer import assemble_url_list
from ibi.archive.rules.profile import ArchiveProfile, ArchiveUrls, Reader
from ibi.items.model.item import Item
from ibi.items.model.visibility import Visibility
from ibi.items.rules import life_cycle
from ibi.standard.instant import Instant
from ibi.standard.label import parse
from ibi.standard.languages import LanguageTag
from ibi.standard.messages import State, UrlList, UrlRequest, ip_addresses
from ibi.standard.networks import network
from tests.support.archive_catalog import PlainCatalog
from tests.support.flat_items import replace
from tests.support.standards_archives import NOW, StandardsArchive, forms, item

REP = "lab.br/arq/2020/01.02.03.04"
META = "lab.br/arq/2020/01.02.03.05"
PROFILE = ArchiveProfile(
    "arq.lab.br", forms("lab.br/arq/2020/01.01.00.00"), ArchiveUrls("http://arq.lab.br", "http://arq.lab.br")
)
ITEM = item(REP, at="2014-01-02T17:23:57Z", files=("a.pdf", "b c.txt"))
PAGE = f"http://arq.lab.br/col/{REP}/metadata"
INSIDE, OUTSIDE = "150.163.2.175", "8.8.8.8"


def pairs(*items: Item, client: str = OUTSIDE, path: str | None = None, file_list: bool = False) -> dict[str, object]:
    request = UrlRequest(ip_addresses(client), parse(REP), file_path=path, file_list=file_list)
    answer = assemble_url_list(PROFILE, PlainCatalog(*items), request, Reader(request.client_addresses, NOW))
    return {} if answer is None else dict(answer.to_pairs())


def test_a_copy_says_that_it_is_one_for_every_relation() -> None:
    answer = StandardsArchive(PROFILE, PlainCatalog(life_cycle.copy(ITEM, "other.br"))).assemble(REP)
    assert isinstance(answer, UrlList)
    assert {entry.state for entry in answer.entries} == {State.COPY}


def test_the_time_stamp_is_that_of_the_last_update() -> None:
    assert pairs(ITEM)["timestamp"] == "2014-01-02T17:23:57Z"


def test_recording_a_next_edition_does_not_change_it() -> None:
    told = pairs(replace(ITEM, next_edition=forms(META)))
    assert told["timestamp"] == "2014-01-02T17:23:57Z"
    assert told["ibi.nextedition"] == ("rep", META)


def test_the_url_of_a_web_service_is_its_own() -> None:
    told = pairs(replace(ITEM, files=(), target=None, target_url="https://maps.lab.br/wms?service=WMS"))
    assert (told["url"], told["contenttype"]) == ("https://maps.lab.br/wms?service=WMS", "Data")


def test_an_item_with_nothing_to_lead_to_leads_to_its_page() -> None:
    told = pairs(replace(ITEM, target=None))
    assert (told["url"], told["contenttype"]) == (PAGE, "Metadata")


def test_the_content_type_of_a_metadata_item_is_metadata() -> None:
    assert pairs(replace(ITEM, describes=forms(META)))["contenttype"] == "Metadata"


@pytest.mark.parametrize("path", [None, "/b c.txt"])
def test_a_client_outside_the_networks_is_sent_to_the_metadata(path: str | None) -> None:
    closed = replace(ITEM, visibility=Visibility(networks=(network("150.163.0.0/16"),)))
    assert pairs(closed, path=path)["url"] == PAGE
    assert pairs(closed, path=path)["contenttype"] == "Metadata"
    assert pairs(closed, path=path)["state"] == "Original"
    assert str(pairs(closed, client=INSIDE, path=path)["url"]).startswith(f"http://arq.lab.br/col/{REP}/doc/")
    assert pairs(closed, client=INSIDE, path=path)["contenttype"] == "Data"


def test_a_client_behind_a_proxy_inside_the_networks_is_inside() -> None:
    closed = replace(ITEM, visibility=Visibility(networks=(network("150.163.0.0/16"),)))
    assert pairs(closed, client=f"172.16.44.200 {INSIDE}")["contenttype"] == "Data"


def test_an_embargo_sends_every_reader_to_the_metadata_until_it_ends() -> None:
    over = replace(ITEM, visibility=Visibility(embargo=NOW))
    running = replace(ITEM, visibility=Visibility(embargo=Instant(NOW.seconds + 1)))
    assert pairs(over)["contenttype"] == "Data"
    assert pairs(running)["contenttype"] == "Metadata"
    assert pairs(running)["url"] == PAGE


def test_the_list_of_files_is_a_page_for_every_reader_which_says_what_is_permitted() -> None:
    hidden = replace(ITEM, visibility=Visibility(networks=(network("10.0.0.0/8"),), listing=False))
    assert pairs(hidden, file_list=True)["url"] == f"http://arq.lab.br/col/{REP}/doc/?list"


def test_metadata_with_an_ibi_that_is_kept_elsewhere_is_named_and_formats_are_written_here() -> None:
    told = pairs(replace(ITEM, metadata_item=forms(META)))
    assert told["ibi.metadata"] == ("rep", META)
    assert "url.metadata" not in told
    assert told["url.metadata(oai_dc)"] == f"{PAGE}?format=oai_dc"
    assert "ibi.metadata(oai_dc)" not in told


def test_a_last_edition_that_is_not_here_is_not_guessed() -> None:
    told = pairs(replace(ITEM, next_edition=forms(META)))
    assert not any(name.startswith(("url.lastedition", "ibi.lastedition")) for name in told)


def test_a_translation_that_was_deleted_here_is_not_offered_any_more() -> None:
    english = item(META, at="2014-01-02T17:23:57Z", files=("en.pdf",), language=LanguageTag("en"))
    source = replace(ITEM, language=LanguageTag("pt"), translations=((LanguageTag("en"), forms(META)),))
    assert "url.translation(en)" in pairs(source, english)
    gone = pairs(source, life_cycle.delete(english, NOW, "withdrawn"))
    assert not any("translation(en)" in name for name in gone)
    elsewhere = pairs(source)
    assert elsewhere["ibi.translation(en)"] == ("rep", META)
    assert "url.translation(en)" not in elsewhere
