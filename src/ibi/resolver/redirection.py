"""From the answer that was chosen to the browser's next address, and to the Archive's thanks (resolution step 5)."""

from __future__ import annotations

from ibi.messages.field import ContentType, IpAddress
from ibi.messages.requests import Acknowledgment
from ibi.persistent_url import PersistentUrl
from ibi.resolver.lead import Located
from ibi.resolver.outcome import Redirect

__all__ = ["redirect"]


def redirect(url: PersistentUrl, base: str, clients: tuple[IpAddress, ...], located: Located) -> Redirect:
    """`base` is the address of this resolver, as it stands in `url.persistent` (E26)."""
    heard, entry = located.heard, located.entry
    assert entry.url is not None  # that is what makes it located
    return Redirect(
        url=_with_pairs(entry.url, url) if _takes_pairs(url, located) else entry.url,
        archive=heard.archive,
        answer=heard.answer,
        entry=entry,
        acknowledgment=_acknowledgment(url.text(base, keep_spelling=True), clients, located),
    )


def _acknowledgment(persistent_url: str, clients: tuple[IpAddress, ...], located: Located) -> Acknowledgment | None:
    """R Table 8.11: the values of the pairs that the relation qualifies, under bare names."""
    entry, key = located.entry, located.heard.answer.url_key
    if key is None:
        return None
    assert entry.url is not None
    assert entry.content_type is not None
    return Acknowledgment(clients, entry.content_type, entry.url, persistent_url, key, entry.state, entry.ibi)


def _takes_pairs(url: PersistentUrl, located: Located) -> bool:
    """E35: the item's own pairs never go onto a file list or metadata."""
    return bool(url.query) and not url.file_list and located.entry.content_type is ContentType.DATA


def _with_pairs(target: str, url: PersistentUrl) -> str:
    """E35: byte for byte, before any `#`."""
    head, hash_, fragment = target.partition("#")
    return f"{head}{'&' if '?' in head else '?'}{url.query_string}{hash_}{fragment}"
