"""The ports of previews."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from ibi.items.model.preview import RenderedPreview
from ibi.items.model.search import ExtractedText
from ibi.standard.label import RepositoryName


class MarkdownRenderer(Protocol):
    """Renders untrusted Markdown, with limits on time and memory. Calls block."""

    @property
    def is_on(self) -> bool:
        """True if rendering is switched on."""

    def render(self, text: str) -> ExtractedText:
        """Return the elements, complete unless there is a reason. No text makes this raise."""

    def stop(self) -> None:
        """Stop the current rendering, from any thread; its result does not count."""


class PreviewStore(Protocol):
    """Rendered previews, by the SHA-512 of their files, followed by a colon and the declared encoding if there is one.

    Calls block, from any thread. Previews are durable and bounded in size; the oldest is evicted first. They may be
    lost.
    """

    def find(self, digest: str) -> RenderedPreview | None:
        """Return the rendered or refused preview; None if it was not rendered yet."""

    def claim(self, digest: str, name: RepositoryName, now: int) -> bool:
        """Return whether the caller shall render it: no other caller has begun, or it began long ago without ending."""

    def put(self, digest: str, rendered: str | None, now: int) -> None:
        """Store a preview, None if it was refused, unless the claim is gone together with the file."""

    def release(self, digest: str) -> None:
        """Give the claim back: it was not rendered."""

    def keep_only(self, name: RepositoryName, digests: Collection[str]) -> None:
        """Drop the previews of the item, except for the files with these SHA-512."""

    def close(self) -> None: ...
