"""Bounds and names in the description of the API, which is a data file, are those of the code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from ibi.app.openapi import document
from ibi.collections.api import MOST_PAGES
from ibi.collections.model import LONGEST_DESCRIPTION, LONGEST_NAME, LONGEST_SEARCH, LONGEST_TITLE
from ibi.collections.resources import MOST_AT_ONCE
from ibi.deposits.api.drafts import MOST_LISTED, MOST_MESSAGE
from ibi.deposits.api.whole_deposits import MOST_BATCH, MOST_ITEMS
from ibi.deposits.model import LONGEST_COMMENT
from ibi.deposits.rules.drafts import MOST_FILES, MOST_REASON
from ibi.following.api.changes import MOST_CHANGES
from ibi.items.model.description_values import LONGEST_ALTERNATE, MOST_ALTERNATES
from ibi.items.model.metadata_json import METADATA_MEMBERS
from ibi.items.model.search import LARGEST_PAGE, MOST, PAGE_SIZE, Facet, Order
from ibi.items.rules.provenance import LONGEST_LINK
from ibi.items.service.feed_readers import LONGEST_WAIT
from ibi.membership.model.registration import MOST_NETWORKS, MOST_PREFIXES, ClaimKind
from ibi.membership.service.copy_holder_admin import LONGEST_SIGNATURE
from ibi.minting.rules.minter import MAX_COUNT
from ibi.people.model.account import Scope
from ibi.reading.api.item_search import MOST_FILTERS
from ibi.resolver.pages.records import LONGEST
from ibi.standard.messages import identification
from ibi.standard.messages.holders import MOST_COPIES
from ibi.standard.messages.membership import MOST_HOSTS
from ibi.standard.messages.signatures import LONGEST_WORD
from ibi.transfers.api import MOST_RELEASES
from ibi.transfers.resources import MOST_TRANSFERS
from ibi.web import body
from ibi.web import request as headers
from ibi.web.errors import LONGEST_RETRY
from ibi.web.record_requests import MOST_JSON

DOCUMENT = document(archive=True, register=True)
PATHS, SCHEMAS = DOCUMENT["paths"], DOCUMENT["components"]["schemas"]
RECORD = "/api/items/{label}"
BOUNDS = {
    "challenge": LONGEST_WORD,
    "IBI-Follower": LONGEST_SIGNATURE,
    "transfers": MOST_TRANSFERS,
    "name": LONGEST_NAME,
    "title": LONGEST_TITLE,
    "description": LONGEST_DESCRIPTION,
    "add": MOST_AT_ONCE,
    "remove": MOST_AT_ONCE,
    "page": MOST_PAGES,
    "releases": MOST_RELEASES,
    "Idempotency-Key": headers.MAX_KEY,
    "Retry-After": LONGEST_RETRY,
    "retry_after": LONGEST_RETRY,
    "count": MAX_COUNT,
    "max_count": MAX_COUNT,
    "limit": MOST_LISTED,
    "most": MOST_CHANGES,
    "wait": LONGEST_WAIT,
    "about": LONGEST,
    "results": MOST_ITEMS,
    "size": LARGEST_PAGE,
    "message": MOST_MESSAGE,
    "host_port": 65535,
    "ip_port": 65535,
    "labels": 2,  # the two forms of one label
    "key": identification.MAX_KEY,
    "hosts": MOST_HOSTS,
    "add_hosts": MOST_HOSTS,
    "remove_hosts": MOST_HOSTS,
    "networks": MOST_NETWORKS,
    "alternates": MOST_ALTERNATES,
    "value": LONGEST_ALTERNATE,
    "allow": MOST_NETWORKS,
    "disallow": MOST_NETWORKS,
    "prefixes": MOST_PREFIXES,
    "add_prefixes": MOST_PREFIXES,
    "remove_prefixes": MOST_PREFIXES,
    "holders": MOST_COPIES,
    "acceptance": LONGEST_LINK,
    "text": LONGEST_COMMENT,
    "reviews": MOST_LISTED,
}


def bounds(node: Any, name: str = "") -> Iterator[tuple[str, int]]:
    """Every upper bound in a part of the description, with the name of the value that it is about."""
    if isinstance(node, list):
        for each in node:
            yield from bounds(each, name)
    elif isinstance(node, dict):
        about = node.get("name", name) if "in" in node else name
        yield from ((about, node[word]) for word in ("maximum", "maxLength", "maxItems") if word in node)
        for member, each in node.items():
            yield from bounds(each, about if member == "schema" else member)


def test_every_bound_is_that_of_the_code() -> None:
    # A comment has a text, and the search of a collection.
    assert set(bounds(DOCUMENT)) == {*BOUNDS.items(), ("text", LONGEST_SEARCH)}


@pytest.mark.parametrize(
    ("path", "method", "most"),
    [
        ("/api/labels", "post", body.MOST),
        ("/api/items", "post", MOST_JSON),
        ("/api/items/batch", "post", MOST_BATCH),
        (RECORD, "put", MOST_JSON),
        (f"{RECORD}/draft", "post", MOST_JSON),
        (f"{RECORD}/draft", "put", MOST_JSON),
        (f"{RECORD}/publish", "post", body.MOST),
        (f"{RECORD}/relations", "post", body.MOST),
    ],
)
def test_the_size_of_a_body_is_that_of_the_code(path: str, method: str, most: int) -> None:
    assert PATHS[path][method]["requestBody"]["description"].startswith(f"At most {most} bytes.")


def test_the_number_of_files_is_that_of_the_code() -> None:
    assert PATHS[f"{RECORD}/files/{{path}}"]["put"]["summary"].endswith(f" at most {MOST_FILES}.")


def test_the_parameters_of_a_search_are_those_of_the_code() -> None:
    listed = {each["name"]: each for each in PATHS["/api/items"]["get"]["parameters"]}
    assert listed["sort"]["schema"]["enum"] == [order.value for order in Order]
    assert {facet.value for facet in Facet} <= set(listed)
    assert f"at most {MOST_FILTERS}." in listed["year"]["description"]
    assert f"; {PAGE_SIZE} if " in listed["size"]["description"]
    assert f"the {MOST}th item" in listed["page"]["description"]
    assert list(SCHEMAS["Items"]["properties"]["facets"]["properties"]) == [facet.value for facet in Facet]


def test_the_length_of_a_reason_is_that_of_the_code() -> None:
    (reason,) = [each for each in PATHS[RECORD]["delete"]["parameters"] if each["name"] == "reason"]
    assert f"At most {MOST_REASON} characters." in reason["description"]


@pytest.mark.parametrize("metadata", [SCHEMAS["Metadata"], SCHEMAS["Description"]["properties"]["metadata"]])
def test_metadata_has_the_elements_of_the_code(metadata: dict[str, Any]) -> None:
    assert tuple(metadata["properties"]) == METADATA_MEMBERS


def test_kinds_of_claims_are_those_of_the_code() -> None:
    assert SCHEMAS["FalseClaim"]["properties"]["claim"]["enum"] == [kind.value for kind in ClaimKind]


def test_scopes_of_tokens_are_those_of_the_code() -> None:
    assert set(SCHEMAS["Token"]["properties"]["scope"]["enum"]) == {str(scope) for scope in Scope}
