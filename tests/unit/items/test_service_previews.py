"""Previews that take long: rendered beside the requests for them, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event

import pytest

from ibi.items.model.preview import PreviewState, RenderedPreview
from ibi.items.model.search import ExtractedText
from ibi.items.ports.previews import MarkdownRenderer
from ibi.items.service.previews import MarkdownPreviews
from ibi.items.store.catalogue.previews import SqlitePreviews
from ibi.items.store.text_process import TextProcess
from ibi.standard.label import RepositoryName
from ibi.storage.errors import DiskRefused
from tests.support.scarce_threads import refuse_threads

_: type[MarkdownRenderer] = TextProcess
NAME = RepositoryName.parse("lab.br/arq/2009/07.21.14.43")
PENDING, REFUSED = RenderedPreview(PreviewState.PENDING), RenderedPreview(PreviewState.REFUSED)


class Upper:
    """The port `MarkdownRenderer` without a process. A text `refuse` is refused, others are errors or wait."""

    def __init__(self) -> None:
        self.is_on, self.go, self.texts, self.passing = True, Event(), list[str](), set[str]()
        self.go.set()

    def render(self, text: str) -> ExtractedText:
        self.texts.append(text)
        assert self.go.wait(60)
        if text == "full":
            raise DiskRefused(path=Path("/tmp"), reason="it is full")
        if text == "odd":
            raise RuntimeError("no renderer says that")
        if text in self.passing:
            return ExtractedText("begun", "it took too long", may_pass=True)
        return ExtractedText("begun", "it is too long") if text == "refuse" else ExtractedText(text.upper())

    def stop(self) -> None:
        self.go.set()


@pytest.fixture
def renderer() -> Upper:
    return Upper()


@pytest.fixture
def previews(tmp_path: Path, renderer: Upper) -> Iterator[MarkdownPreviews]:
    with closing(SqlitePreviews(tmp_path, 1)) as store:
        made = MarkdownPreviews(store, renderer)
        yield made
        made.stop()


def test_a_preview_is_pending_and_then_there(previews: MarkdownPreviews, renderer: Upper) -> None:
    assert previews.find(NAME, "a", "text") == PENDING
    assert previews.wait(60)
    assert previews.find(NAME, "a", "text") == RenderedPreview(PreviewState.RENDERED, "TEXT")
    assert previews.find(NAME, "b", "refuse") == PENDING
    assert previews.wait(60)
    assert previews.find(NAME, "b", "refuse") == REFUSED
    assert renderer.texts == ["text", "refuse"]


@pytest.mark.parametrize("text", ["full", "odd"])
def test_an_error_while_one_is_rendered_stops_no_other_and_it_is_tried_again(
    previews: MarkdownPreviews, renderer: Upper, text: str
) -> None:
    renderer.go.clear()
    previews.find(NAME, "a", text)
    previews.find(NAME, "b", "other")
    renderer.go.set()
    assert previews.wait(60)
    assert previews.find(NAME, "b", "other").text == "OTHER"
    assert previews.find(NAME, "a", text) == PENDING
    assert previews.wait(60)
    assert renderer.texts == [text, "other", text]


def test_a_thread_that_cannot_be_started_loses_no_preview(
    previews: MarkdownPreviews, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_threads(monkeypatch, "previews")
    assert previews.find(NAME, "a", "text") == PENDING
    assert previews.wait(60)
    for digest in "ab":
        assert previews.find(NAME, digest, "text") == PENDING
        assert previews.wait(60)
        assert previews.find(NAME, digest, "text").text == "TEXT"


def test_a_failure_of_the_machine_is_tried_again_ever_more_rarely(tmp_path: Path, renderer: Upper) -> None:
    now = [1e9]
    renderer.passing = {"text"}
    with closing(SqlitePreviews(tmp_path, 1)) as store:
        previews = MarkdownPreviews(store, renderer, now=lambda: now[0])

        def find(after: float) -> RenderedPreview:
            now[0] += after
            found = previews.find(NAME, "a", "text")
            assert previews.wait(60)
            return found

        assert [find(after) for after in (0, 0, 59, 1, 119, 1)] == [PENDING] * 6
        assert renderer.texts == ["text"] * 3
        renderer.passing = set()
        assert [find(after) for after in (239, 1)] == [PENDING] * 2
        assert find(0).text == "TEXT"
        previews.stop()


def test_one_that_waits_already_does_not_wait_twice_and_only_so_many_wait(
    previews: MarkdownPreviews, renderer: Upper
) -> None:
    renderer.go.clear()
    for number in (*range(200), *range(200)):
        assert previews.find(NAME, str(number), "text") == PENDING
    renderer.go.set()
    assert previews.wait(60)
    assert len(renderer.texts) == 64


def test_what_is_under_way_when_the_server_stops_is_rendered_another_time(
    previews: MarkdownPreviews, renderer: Upper, tmp_path: Path
) -> None:
    renderer.go.clear()
    previews.find(NAME, "a", "text")
    previews.find(NAME, "b", "text")
    previews.stop()
    assert previews.find(NAME, "a", "text") == PENDING
    with closing(SqlitePreviews(tmp_path, 1)) as store:
        again = MarkdownPreviews(store, Upper())
        assert again.find(NAME, "a", "text") == PENDING
        assert again.wait(60)
        assert again.find(NAME, "a", "text").text == "TEXT"


def test_without_a_renderer_what_was_rendered_is_found_and_the_rest_refused(
    previews: MarkdownPreviews, renderer: Upper
) -> None:
    previews.find(NAME, "a", "text")
    assert previews.wait(60)
    renderer.is_on = False
    assert previews.find(NAME, "a", "text").text == "TEXT"
    assert previews.find(NAME, "b", "text") == REFUSED


def test_previews_whose_store_is_closed_are_pending(tmp_path: Path, renderer: Upper) -> None:
    store = SqlitePreviews(tmp_path, 1)
    store.close()
    assert MarkdownPreviews(store, renderer).find(NAME, "a", "text") == PENDING
