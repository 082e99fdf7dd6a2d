"""Records of works in JSON: CSL-JSON of reference managers, and the records of Crossref and DataCite for a DOI.

Crossref's records are CSL-JSON with additions; DataCite has a schema of its own. A record may come alone, in a list, or
in the envelope of a server.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from ibi.importing.rules.csl_json import read_csl
from ibi.importing.rules.datacite import read_datacite
from ibi.importing.rules.imported import MOST_RECORDS, ImportedRecord, UnreadableRecord
from ibi.importing.rules.json_members import Members
from ibi.standard.document_errors import InvalidDocument
from ibi.standard.json_fields import decode_document


def read_json(text: str) -> tuple[ImportedRecord, ...]:
    """Return the records of a document, at most `MOST_RECORDS`."""
    try:
        document = decode_document(text.encode())
    except (InvalidDocument, UnicodeEncodeError):
        raise UnreadableRecord(text[:80], 0, "it begins like JSON, and is none") from None
    works = list(islice(_works(document), MOST_RECORDS + 1))
    if len(works) > MOST_RECORDS:
        raise UnreadableRecord(text[:80], 0, "there are more than {most} entries", most=MOST_RECORDS)
    if not works:
        raise UnreadableRecord(text[:80], 0, "there is no record of a work in it")
    return tuple(read_datacite(work) if _is_datacite(work) else read_csl(work) for work in works)


def _works(document: object) -> Iterator[Members]:
    """Yield the works in the envelopes: a list, `message` of Crossref, `data` and `attributes` of DataCite."""
    if isinstance(document, list):
        for each in document:
            yield from _works(each) if isinstance(each, dict) else ()
    elif isinstance(document, dict):
        if isinstance(document.get("message"), dict):
            inner = document["message"]
            yield from _works(inner["items"]) if isinstance(inner.get("items"), list) else (inner,)
        elif isinstance(document.get("data"), dict | list):
            yield from _works(document["data"])
        elif isinstance(document.get("attributes"), dict):
            yield document["attributes"]
        else:
            yield document


def _is_datacite(work: Members) -> bool:
    return any(isinstance(work.get(name), list) for name in ("titles", "creators"))
