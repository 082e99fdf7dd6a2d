"""Records that were made to hurt: a description or the one documented error, in time linear in the text."""

from __future__ import annotations

import json
from time import process_time

import pytest

from ibi.importing.rules.imported import MOST_IMPORTED, UnreadableRecord
from ibi.importing.rules.reading import read_records

SIZE = 100_000
"""Enough for work that is quadratic to take minutes."""
BOMB = (
    "@string{a0 = {"
    + "x" * 1000
    + "}}"
    + "".join(f"@string{{a{n} = {' # '.join([f'a{n - 1}'] * 50)}}}" for n in range(1, 20))
)
HOSTILE = {
    "deep braces": "@book{x, title=" + "{" * (SIZE - 40),
    "balanced braces": "@book{x, title=" + "{" * (SIZE // 2 - 40) + "}" * (SIZE // 2 - 40) + "}",
    "many entries begun": "@book{" * (SIZE // 6),
    "many addresses of mail": "a@b " * (SIZE // 4),
    "backslashes": "@book{x, title={" + "\\" * (SIZE - 40) + "}}",
    "accents on nothing": "@book{x, title={" + "\\'" * (SIZE // 2 - 40) + "}}",
    "spaces between authors": "@book{x, author={a" + " " * (SIZE - 60) + "b}}",
    "authors": "@book{x, author={" + "a and " * (SIZE // 6 - 40) + "}}",
    "abbreviations that grow": BOMB + "@book{x, title = a19}",
    "fields": "@book{x" + ", a={}" * (SIZE // 6 - 40) + "}",
    "quotation marks": "@book{x, title=" + '"' * (SIZE - 40) + "}",
    "lines of RIS": "TY  - JOUR\n" + "AU  - a\n" * (SIZE // 8 - 40),
    "continued lines": "TY  - JOUR\nTI  - a\n" + "b\n" * (SIZE // 2 - 40),
    "tags of spaces": "TY  - JOUR\n" + ("A" + " " * 1000 + "\n") * (SIZE // 1010),
    "nested JSON": "[" * SIZE,
    "nested envelopes": '{"data":' * 10_000 + "1" + "}" * 10_000,
    "tags in an abstract": json.dumps({"title": "a", "abstract": "<" * (SIZE // 2)}),
    "half tags": json.dumps({"title": "a", "abstract": "<a" * (SIZE // 4)}),
    "entities": json.dumps({"title": "a", "abstract": "&amp" * (SIZE // 5)}),
    "line ends": json.dumps({"title": "a", "abstract": "\n" * (SIZE // 3)}),
    "authors of JSON": json.dumps({"title": "a", "author": [{"family": "a"}] * 50_000}),
    "numbers": '{"title": "a", "issued": {"date-parts": [[' + "9" * 4000 + "]]}}",
    "controls": json.dumps({"title": "a\u0000\u202e\u2028b", "author": [{"literal": "\ud800"}]}),
    "kinds of everything": json.dumps(
        {"title": {"a": 1}, "author": "x", "issued": [], "DOI": {}, "license": 3, "relation": []}
    ),
    "kinds of everything, DataCite": json.dumps(
        {"titles": [1, "x", {"title": 3}], "creators": [[]], "types": 1, "geoLocations": "x"}
    ),
    "too long": "x" * (MOST_IMPORTED + 1),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_record_is_read_or_refused_without_delay(name: str) -> None:
    begun = process_time()
    try:
        records = read_records(HOSTILE[name])
    except UnreadableRecord as refusal:
        assert len(str(refusal)) < 500
    else:
        assert sum(len(text.value) for record in records for text in record.metadata.title) <= 2 * MOST_IMPORTED
    assert process_time() - begun < 5, "it is linear work, of some milliseconds"
