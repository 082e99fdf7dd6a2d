"""Licences to choose from, and how they are recognised."""

from __future__ import annotations

import pytest

from ibi.items.rules.licences import common_licences, find_licence, known_licences, read_licence
from ibi.standard.document_errors import InvalidMetadata


def test_every_licence_has_an_identifier_of_spdx_an_address_and_terms() -> None:
    assert len({each.id for each in known_licences()}) == len(known_licences())
    for each in known_licences():
        assert str(each.licence) == each.id
        assert each.url.startswith("https://")
        assert each.terms
        assert find_licence(each.id) is each
    assert common_licences()[0].id == "CC-BY-4.0"
    assert set(common_licences()) < set(known_licences())


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("cc-by-4.0", "CC-BY-4.0"),
        ("cc by 4.0", "CC-BY-4.0"),
        ("CC BY-NC 4.0", "CC-BY-NC-4.0"),
        ("artistic-2.0", "Artistic-2.0"),
        ("GPL-1.0+", "GPL-1.0+"),
        ("LicenseRef-INPE", "LicenseRef-INPE"),
        ("http://creativecommons.org/licenses/by-nc-sa/3.0/br/", "CC-BY-NC-SA-3.0"),
        ("https://creativecommons.org/licenses/by/4.0/deed.pt_BR", "CC-BY-4.0"),
        ("https://creativecommons.org/licenses/by/4.0/legalcode", "CC-BY-4.0"),
        ("https://creativecommons.org/publicdomain/zero/1.0", "CC0-1.0"),
        ("https://spdx.org/licenses/MIT.html", "MIT"),
        ("https://opensource.org/license/mit", "MIT"),
        ("https://www.gnu.org/licenses/gpl-3.0.html", "GPL-3.0-or-later"),
    ],
)
def test_a_licence_is_known_by_its_identifier_and_by_the_address_of_its_text(text: str, known: str) -> None:
    assert str(read_licence(text)) == known


def test_other_licences_are_taken_as_they_are_and_words_are_not() -> None:
    assert str(read_licence("Artistic-2.0")) == "Artistic-2.0"
    assert str(read_licence("https://example.org/terms")) == "https://example.org/terms"
    for text in ("", "all rights reserved", "x" * 10**6, "javascript:alert(1)"):
        assert find_licence(text) is None
        with pytest.raises(InvalidMetadata):
            read_licence(text)


@pytest.mark.parametrize("text", ["CC-BY-99", "nonsense", "MIT-99"])
def test_a_name_that_only_looks_like_an_identifier_is_refused_with_the_reason(text: str) -> None:
    with pytest.raises(InvalidMetadata, match="SPDX lists no licence of that name"):
        read_licence(text)
