"""R Example 8.1: persistent URLs in their simple form."""

from __future__ import annotations

import pytest

from ibi.standard.label import Ibip, RepositoryName
from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.relation import Relation

IBIPS = ["8JMKD3MGP8W/35MME4E", "8JMKD3MGP8W/35MMLL8", "LK47B6W/362SFKH"]
REPOSITORY_NAME = "iconet.com.br/banon/2009/09.09.22.01"


@pytest.mark.parametrize("label", [*IBIPS, REPOSITORY_NAME])
def test_a_simple_persistent_url_is_a_label_and_nothing_else(label: str) -> None:
    url = PersistentUrl.parse(f"http://urlib.net/{label}")
    assert str(url.label) == label
    assert (url.relation, url.file_list, url.file_path) == (Relation.ITSELF, False, None)
    assert (url.required_original, url.language, url.query) == (False, None, ())
    assert str(url) == f"http://urlib.net/{label}"


def test_the_first_three_labels_are_of_the_opaque_form_and_the_fourth_is_a_repository_name() -> None:
    assert all(isinstance(PersistentUrl.parse(f"/{label}").label, Ibip) for label in IBIPS)
    assert isinstance(PersistentUrl.parse(f"/{REPOSITORY_NAME}").label, RepositoryName)


def test_the_third_and_the_fourth_come_from_one_instant() -> None:
    third, fourth = PersistentUrl.parse(f"/{IBIPS[2]}"), PersistentUrl.parse(f"/{REPOSITORY_NAME}")
    assert third.label.instant == fourth.label.instant
