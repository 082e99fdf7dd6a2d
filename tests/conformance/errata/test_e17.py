"""E17: an IBIp with a path, or a repository name?"""

from __future__ import annotations

from ibi.standard.label import Ibip, RepositoryName
from ibi.standard.persistent_url import PersistentUrl


def test_if_the_first_two_segments_are_an_ibip_the_rest_is_a_path() -> None:
    url = PersistentUrl.parse("/LK47B6W/362SFKH/2010/08.25.12.38")
    assert url.label == Ibip.parse("LK47B6W/362SFKH")
    assert url.file_path == "/2010/08.25.12.38"


def test_the_first_two_segments_are_an_ibip_in_lower_case_too() -> None:
    url = PersistentUrl.parse("/lk47b6w/362sfkh/2010/08.25.12.38")
    assert url.label == Ibip.parse("LK47B6W/362SFKH")
    assert url.label.spelling == "lk47b6w/362sfkh"


def test_if_they_are_not_all_four_are_the_label() -> None:
    url = PersistentUrl.parse("/sid.inpe.br/mtc-m19/2010/08.25.12.38")
    assert url.label == RepositoryName.parse("sid.inpe.br/mtc-m19/2010/08.25.12.38")
    assert url.file_path is None


def test_a_repository_name_may_be_followed_by_a_path() -> None:
    url = PersistentUrl.parse("/sid.inpe.br/mtc-m19/2010/08.25.12.38/2010/08.25.12.38")
    assert url.label == RepositoryName.parse("sid.inpe.br/mtc-m19/2010/08.25.12.38")
    assert url.file_path == "/2010/08.25.12.38"


def test_what_is_written_reads_back_as_the_same_form() -> None:
    url = PersistentUrl(Ibip.parse("LK47B6W/362SFKH"), file_path="/2010/08.25.12.38")
    assert PersistentUrl.parse(str(url)) == url
