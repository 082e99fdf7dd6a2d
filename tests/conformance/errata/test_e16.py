"""E16: a path applies to the item that the modifier selects."""

from __future__ import annotations

import pytest

from ibi.resolver.rules.outcome import Redirect
from ibi.standard.label import parse
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.relation import Relation
from tests.support.scripted_archives import archive, body, drive, resolution

ITEM = "LK47B6W/362SFKH"
A = archive("a")


def metadata(relation: Relation) -> bytes:
    """The answer that has them."""
    of = relation.qualifier.replace(".", "__")
    own = {f"url{of}": "http://a.example.org/m", f"contenttype{of}": "Metadata", f"state{of}": "Original"}
    return body(A, f"ibip {ITEM}", **own)


def test_a_path_may_follow_a_modifier() -> None:
    url = PersistentUrl.parse("/LK47B6W/362SFKH!/reference.bib")
    assert (url.relation.modifier, url.file_path) == ("!", "/reference.bib")
    assert str(url) == "http://urlib.net/LK47B6W/362SFKH!/reference.bib"


def test_a_path_may_stand_beside_verbs() -> None:
    url = PersistentUrl.parse("/LK47B6W/362SFKH/reference.bib?ibiurl.verblist=GetLastEdition")
    assert (url.relation.modifier, url.file_path) == ("!", "/reference.bib")


def test_a_path_and_the_list_of_files_are_both_kept_so_that_the_list_can_win() -> None:
    url = PersistentUrl.parse("/LK47B6W/362SFKH/reference.bib?ibiurl.verblist=GetFileList")
    assert (url.file_list, url.file_path) == (True, "/reference.bib")


def test_the_signs_of_a_modifier_inside_a_path_belong_to_the_path() -> None:
    url = PersistentUrl.parse("/LK47B6W/362SFKH/a!+(pt):(oai_dc)")
    assert (url.relation.modifier, url.file_path) == ("", "/a!+(pt):(oai_dc)")


@pytest.mark.parametrize(
    "link", ["/LK47B6W/362SFKH:/a.pdf", "/LK47B6W/362SFKH/a.pdf?ibiurl.verblist=GetMetadata", "/LK47B6W/362SFKH!:/a"]
)
def test_metadata_are_asked_for_without_the_path(link: str) -> None:
    """An Archive that looks for the file would have no URL for its metadata."""
    url = PersistentUrl.parse(link)
    assert url.file_path is not None
    assert url.applied_path is None
    _, (asking,) = drive(resolution(link, (A,)), {A: lambda _: metadata(url.relation)})
    assert (asking.request.relation, asking.request.file_path) == (url.relation, None)


@pytest.mark.parametrize("modifier", ["!", "+(pt)", "+!", ""])
def test_a_path_is_asked_for_with_an_edition_or_a_translation(modifier: str) -> None:
    url = PersistentUrl.parse(f"/LK47B6W/362SFKH{modifier}/a.pdf")
    assert url.applied_path == "/a.pdf"


def test_metadata_that_are_an_item_elsewhere_are_asked_for_without_the_path() -> None:
    """The path would name a file of theirs."""
    first = body(A, f"ibip {ITEM}", ibi__metadata="{rep lab.br/arq/2009/09.09.22.02}")
    second = body(A, "rep lab.br/arq/2009/09.09.22.02", url="http://a.example.org/m", contenttype="Data", state="Copy")
    outcome, asked = drive(
        resolution(f"/{ITEM}:/a.pdf", (A,)), {A: lambda asked: first if asked.label == parse(ITEM) else second}
    )
    assert isinstance(outcome, Redirect)
    assert outcome.url == "http://a.example.org/m"
    assert [each.request.file_path for each in asked] == [None, None]
