"""Previews that take long to render: made once for each content, in the background.

A page asks for the preview of a file and gets the stored one. If there is none, a thread has it rendered by another
process, one after the other. The thread ends when nothing waits. Of several processes of a server, the first to claim a
content renders it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from threading import Condition, Thread
from typing import Final

import structlog
from structlog.typing import FilteringBoundLogger

from ibi.items.model.preview import PreviewState, RenderedPreview
from ibi.items.ports.previews import MarkdownRenderer, PreviewStore
from ibi.standard.label import RepositoryName
from ibi.standard.storage_errors import StorageError

_MOST_WAITING: Final = 64
"""Files that wait to be rendered, each with its text. Further ones are dropped until a reader asks again."""
_FIRST_REST: Final = 60.0
_LONGEST_REST: Final = 3600.0
"""Seconds until the retry of a text that failed for a reason of the machine: the first and the longest wait."""
_MOST_RESTING: Final = 1024
_STOP: Final = 5.0
_PENDING: Final = RenderedPreview(PreviewState.PENDING)
_REFUSED: Final = RenderedPreview(PreviewState.REFUSED)


class MarkdownPreviews:
    """Finds previews of Markdown, and has missing ones rendered. Calls block, from any thread."""

    def __init__(
        self,
        store: PreviewStore,
        renderer: MarkdownRenderer,
        *,
        now: Callable[[], float] = time.time,
        log: FilteringBoundLogger | None = None,
    ) -> None:
        self._store, self._renderer, self._now = store, renderer, now
        self._log = log or structlog.get_logger("ibi.previews")
        self._change = Condition()
        self._waiting: dict[str, tuple[RepositoryName, str]] = {}
        """By digest; the first one is being rendered."""
        self._resting: dict[str, tuple[float, float]] = {}
        """By digest: the time of the retry, and the length of the last wait."""
        self._thread: Thread | None = None
        self._is_stopping = False

    def find(self, name: RepositoryName, digest: str, text: str) -> RenderedPreview:
        """Return the preview of a file of the item. `text` is the beginning of the file. `digest` is its SHA-512 and,
        after a colon, the declared encoding, if there is one."""
        try:
            found = self._store.find(digest)
        except StorageError as error:
            self._log.warning("previews cannot be read at the moment", reason=str(error))
            return _PENDING
        if found is not None:
            return found
        if not self._renderer.is_on:
            return _REFUSED
        self._want(name, digest, text)
        return _PENDING

    def keep_only(self, name: RepositoryName, digests: Collection[str]) -> None:
        """Drop the previews of files that the item no longer has."""
        self._store.keep_only(name, digests)

    def wait(self, seconds: float) -> bool:
        """Return whether the queue becomes empty within so many seconds."""
        with self._change:
            return self._change.wait_for(lambda: self._thread is None, seconds)

    def stop(self) -> None:
        """End the rendering under way; it is repeated another time."""
        with self._change:
            self._is_stopping = True
        self._renderer.stop()
        self.wait(_STOP)

    def _want(self, name: RepositoryName, digest: str, text: str) -> None:
        with self._change:
            if self._is_stopping or digest in self._waiting or len(self._waiting) >= _MOST_WAITING:
                return
            if self._now() < self._resting.get(digest, (0.0, 0.0))[0]:
                return
            if self._thread is None:
                thread = Thread(target=self._render_waiting, name="previews", daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:
                    self._log.warning("previews cannot be rendered at the moment", reason=str(error))
                    return
                self._thread = thread
            self._waiting[digest] = name, text

    def _render_waiting(self) -> None:
        while (digest := self._next_waiting()) is not None:
            try:
                self._render(digest, *self._waiting[digest])
            except StorageError as error:
                self._log.warning("a preview cannot be rendered at the moment", reason=str(error))
            except Exception:  # noqa: BLE001 - the others are rendered all the same
                self._log.error("a preview could not be rendered", exc_info=True)
            finally:
                with self._change:
                    del self._waiting[digest]

    def _next_waiting(self) -> str | None:
        """Return the next digest. None ends the thread: a later request starts another one."""
        with self._change:
            if self._waiting and not self._is_stopping:
                return next(iter(self._waiting))
            self._waiting.clear()
            self._thread = None
            self._change.notify_all()
            return None

    def _render(self, digest: str, name: RepositoryName, text: str) -> None:
        if not self._store.claim(digest, name, int(self._now())):
            return
        is_settled = False
        try:
            found = self._renderer.render(text)
            if found.may_pass and not self._is_stopping:
                self._rest(digest)
                self._log.warning("a preview is rendered another time", item=str(name), reason=found.ends_because)
            elif not self._is_stopping:
                self._resting.pop(digest, None)
                if found.ends_because is not None:
                    self._log.info("a preview is not rendered", item=str(name), reason=found.ends_because)
                rendered = found.text if found.ends_because is None else None
                self._store.put(digest, rendered, int(self._now()))
                is_settled = True
        finally:
            if not is_settled:
                self._store.release(digest)

    def _rest(self, digest: str) -> None:
        """Leave a text alone for a while, which becomes longer each time."""
        _, rested = self._resting.pop(digest, (0.0, 0.0))
        rest = min(2 * rested or _FIRST_REST, _LONGEST_REST)
        if len(self._resting) >= _MOST_RESTING:
            del self._resting[next(iter(self._resting))]
        self._resting[digest] = self._now() + rest, rest
