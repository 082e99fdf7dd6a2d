"""What the pages call a site."""

from __future__ import annotations

import pytest

from ibi.settings import InvalidSetting, load_settings


@pytest.mark.parametrize(
    ("given", "name"), [("Biblioteca  do\tLaboratório ", "Biblioteca do Laboratório"), ("x" * 80, "x" * 80)]
)
def test_a_name_is_on_one_line(given: str, name: str) -> None:
    assert load_settings({}, {"IBI_SITE_NAME": given}).site.name == name


def test_without_a_name_it_is_that_of_the_product() -> None:
    assert load_settings({}, {}).site.name == "ibi"


@pytest.mark.parametrize("given", [" ", "x" * 81, "a\x00b", "a\u202eb"])
def test_what_is_no_name_is_refused(given: str) -> None:
    with pytest.raises(InvalidSetting, match="IBI_SITE_NAME"):
        load_settings({}, {"IBI_SITE_NAME": given})
