"""The record of an item in a dump is the one that the API gives everyone."""

from __future__ import annotations

from typing import Any

import pytest

from ibi.harvesting.rules.dumps import public_record
from ibi.items.model.visibility import Visibility
from ibi.reading.delivery.metadata import item_record
from ibi.standard.instant import Instant
from ibi.standard.networks import network
from tests.support.archive_app import NOW, OTHER, archive_app, deleted, kept

LATER = Instant(NOW.seconds + 1_000)


@pytest.mark.parametrize(
    "others",
    [
        {},
        {"owner": "service:ana"},
        {"visibility": Visibility(networks=(network("10.0.0.0/8"),))},
        {"visibility": Visibility(embargo=LATER, embargo_reason="not yet")},
        {"visibility": Visibility(listing=False)},
        {"files": {}, "target_url": "http://service.example/"},
        {"files": {}, "target_url": "http://service.example/", "visibility": Visibility(embargo=LATER)},
    ],
    ids=["public", "owned", "restricted", "embargoed", "without a list", "service", "embargoed service"],
)
def test_a_dump_tells_of_an_item_what_the_api_tells_everyone(others: dict[str, Any]) -> None:
    one = kept(OTHER, **others)
    app = archive_app(one)
    told = dict(item_record(app.site, one[0]))
    del told["links"]
    if "files" in told:
        told["files"] = [{name: value for name, value in file.items() if name != "url"} for file in told["files"]]
    assert public_record(one[0], NOW) == told


def test_a_tombstone_has_a_public_record_too() -> None:
    one = deleted(OTHER)
    told = dict(item_record(archive_app(one).site, one[0]))
    del told["links"]
    if "files" in told:
        told["files"] = list(told["files"])
    assert public_record(one[0], NOW) == told
