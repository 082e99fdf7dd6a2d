"""Entry point for records that a depositor pasted: BibTeX, RIS, CSL-JSON, or the JSON of Crossref or DataCite."""

from __future__ import annotations

import re
from typing import Final

from ibi.importing.rules.bibtex import read_bibtex
from ibi.importing.rules.citation_json import read_json
from ibi.importing.rules.imported import MOST_IMPORTED, ImportedRecord, UnreadableRecord
from ibi.importing.rules.ris import looks_like_ris, read_ris

_DOI_ALONE: Final = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:\s*)?10\.[0-9]{4,9}/\S{1,300}", re.IGNORECASE)


def read_records(text: str) -> tuple[ImportedRecord, ...]:
    """Return the records in a text, at least one. `UnreadableRecord` gives the reason, or the first unreadable line.
    The format is recognised by the beginning of the text."""
    if len(text) > MOST_IMPORTED:
        raise UnreadableRecord(text[:80], 0, "it is longer than {most} characters", most=MOST_IMPORTED)
    bare = text.lstrip("\ufeff \t\r\n")
    if not bare:
        raise UnreadableRecord("", 0, "it is empty")
    if bare[0] in "{[":
        return read_json(bare)
    if looks_like_ris(bare):
        return read_ris(bare)
    if "@" in bare:
        return read_bibtex(text)  # unchanged, so that its lines can be counted
    if _DOI_ALONE.fullmatch(bare.strip()):
        reason = "it is a DOI alone; paste the record that doi.org gives for it, as BibTeX, RIS or JSON"
        raise UnreadableRecord(bare[:80], 0, reason)
    raise UnreadableRecord(bare[:80], 0, "it is neither BibTeX nor RIS nor JSON")
