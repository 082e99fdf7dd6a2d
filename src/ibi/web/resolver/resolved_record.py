"""The target of a persistent URL as JSON instead of a redirect."""

from __future__ import annotations

from ibi.persistent_url import PersistentUrl
from ibi.resolver.language import Wanted, languages_offered
from ibi.resolver.outcome import Redirect
from ibi.services.resolving.resolver_service import Resolved
from ibi.web.resolver.archive_record import archive_record, forms_record


def resolved_record(url: PersistentUrl, found: Redirect, resolved: Resolved, base: str) -> dict[str, object]:
    """`found` is the outcome of `resolved`. Its key is left out: with it, acknowledgments could be sent in the
    resolver's name."""
    answer, entry = found.answer, found.entry
    languages = languages_offered(Wanted.of(url.relation), (answer,))
    return {
        "persistent_url": url.text(base, keep_spelling=True),
        "label": url.label.spelling,
        "url": found.url,
        "state": None if entry.state is None else entry.state.value,
        "content_type": None if entry.content_type is None else entry.content_type.value,
        "timestamp": None if entry.timestamp is None else str(entry.timestamp),
        "relation": url.relation.modifier,
        "ibi": None if entry.ibi is None else forms_record(entry.ibi),
        "asked_for": forms_record(answer.ibi),
        "next_edition": None if answer.next_edition is None else forms_record(answer.next_edition),
        "languages": [str(tag) for tag in languages],
        "archive": archive_record(found.archive),
        "seconds": round(resolved.seconds, 6),
        "max_age": resolved.max_age,
        "was_kept": resolved.was_kept,
    }
