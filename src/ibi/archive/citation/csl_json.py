"""A citation as CSL-JSON: what processors of the Citation Style Language make any style of."""

from __future__ import annotations

from typing import Any

from ibi.archive.citation.names import Name
from ibi.archive.citation.work import Day, Work, WorkKind


def csl_json(work: Work, accessed: Day | None = None) -> dict[str, Any]:
    """An item of the CSL data schema; a file of them is a list."""
    item: dict[str, Any] = {
        "id": work.label,
        "type": str(work.kind),
        "title": work.title,
        "author": [_name(name) for name in work.authors],
        "contributor": [_name(name) for name in work.contributors],
        "container-title": work.source,
        "publisher": work.publisher,
        "genre": work.genre if work.kind in {WorkKind.THESIS, WorkKind.REPORT, WorkKind.OTHER} else None,
        "language": work.language,
        "abstract": work.abstract,
        "keyword": ", ".join(work.keywords),
        "URL": work.url,
    }
    if work.issued is not None:
        item["issued"] = {"date-parts": [[part for part in work.issued if part is not None]]}
    if accessed is not None:
        item["accessed"] = {"date-parts": [[accessed.year, accessed.month, accessed.day]]}
    return {name: value for name, value in item.items() if value}


def _name(name: Name) -> dict[str, str]:
    return {"family": name.family, "given": name.given} if name.given else {"literal": name.family}
