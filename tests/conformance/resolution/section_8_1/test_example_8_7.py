"""R Example 8.7: a persistent URL that returns one file of an item."""

from __future__ import annotations

from ibi.standard.persistent_url import PersistentUrl

URL = "http://urlib.net/LK47B6W/362SFKH/reference.bib"


def test_the_path_after_the_label_names_a_file_of_the_item() -> None:
    url = PersistentUrl.parse(URL)
    assert (str(url.label), url.file_path) == ("LK47B6W/362SFKH", "/reference.bib")
    assert str(url) == URL
