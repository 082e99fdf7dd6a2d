"""R Example 8.6: a persistent URL that returns a list of files."""

from __future__ import annotations

from ibi.standard.persistent_url import PersistentUrl
from ibi.standard.relation import Relation

URL = "http://urlib.net/LK47B6W/362SFKH?ibiurl.verblist=GetFileList"


def test_the_verb_get_file_list_asks_for_the_files_of_the_item_itself() -> None:
    url = PersistentUrl.parse(URL)
    assert (str(url.label), url.relation, url.file_list) == ("LK47B6W/362SFKH", Relation.ITSELF, True)
    assert str(url) == URL
