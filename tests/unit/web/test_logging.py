"""The log of a server."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from ibi.web.logging import configure_logging, without_secrets

TOKEN = f"ibi_{'a' * 16}_{'b' * 52}"


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


def test_an_event_is_a_line_of_json() -> None:
    stream = io.StringIO()
    configure_logging("info", "json", stream)
    structlog.get_logger().info("request", status=200)
    event = json.loads(stream.getvalue())
    assert (event["event"], event["status"], event["level"]) == ("request", 200, "info")
    assert event["timestamp"].endswith("Z")


def test_an_event_is_a_line_for_people() -> None:
    stream = io.StringIO()
    configure_logging("info", "console", stream)
    structlog.get_logger().info("request", status=200)
    assert stream.getvalue().count("\n") == 1
    assert "status=200" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_less_important_events_are_left_out() -> None:
    stream = io.StringIO()
    configure_logging("warning", "json", stream)
    log = structlog.get_logger()
    log.info("no")
    log.warning("yes")
    assert [json.loads(line)["event"] for line in stream.getvalue().splitlines()] == ["yes"]


def test_what_goes_wrong_in_a_library_is_logged_the_same_way() -> None:
    stream = io.StringIO()
    configure_logging("info", "json", stream)
    logging.getLogger("uvicorn.error").info("Started server process")
    logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
    (event,) = map(json.loads, stream.getvalue().splitlines())
    assert (event["event"], event["level"]) == ("Invalid HTTP request received.", "warning")


@pytest.mark.parametrize("form", ["json", "console"])
def test_a_traceback_is_logged_without_secrets(form: str) -> None:
    stream = io.StringIO()
    configure_logging("info", form, stream)  # type: ignore[arg-type]
    try:
        raise ValueError(f"no such token: {TOKEN}")
    except ValueError:
        structlog.get_logger().exception("failed")
    assert "ValueError" in stream.getvalue()
    assert "b" * 52 not in stream.getvalue()


@pytest.mark.parametrize(
    "event",
    [
        {"event": f"asked with {TOKEN}"},
        {"event": "x", "header": f"Bearer {TOKEN}"},
        {"event": "x", "Authorization": "Basic hunter2"},
        {"event": "x", "headers": {"authorization": "hunter2", "Cookie": "hunter2"}},
        {"event": "x", "headers": ["Authorization: bearer hunter2"]},
        {"event": "x", "token": "hunter2"},
    ],
)
def test_secrets_are_covered_wherever_they_stand(event: dict[str, object]) -> None:
    covered = str(without_secrets(None, "", event))
    assert "hunter2" not in covered
    assert "b" * 52 not in covered


def test_everything_else_stays() -> None:
    event = {"event": "request", "status": 200, "path": "/api/labels", "parts": [1, "two"]}
    assert without_secrets(None, "", event) == event


def test_the_secret_of_a_link_that_signs_in_is_covered() -> None:
    covered = without_secrets(None, "info", {"path": f"/sign-in/{'a7' * 26}", "detail": "GET /sign-in/abc?x HTTP/1.1"})

    assert covered == {"path": "/sign-in/…", "detail": "GET /sign-in/…?x HTTP/1.1"}


@pytest.mark.parametrize(
    "sign", ["\x00", "\x08", "\x1b[31m", "\x7f", "\x9b31m", "\r", "\n", "\u2028", "\u202e", "\udc80"]
)
def test_nothing_that_a_stranger_writes_acts_on_a_terminal(sign: str) -> None:
    stream = io.StringIO()
    configure_logging("info", "console", stream)
    structlog.get_logger().info(f"event {sign}", path=f"/a/{sign}X", parts=[sign], method=sign)
    logging.getLogger("uvicorn.error").warning("Invalid %s", sign)
    first, second = stream.getvalue().removesuffix("\n").split("\n")
    assert first.isprintable()
    assert second.isprintable()


def test_letters_of_every_language_stay_as_they_are() -> None:
    stream = io.StringIO()
    configure_logging("info", "console", stream)
    structlog.get_logger().info("request", path="/dissertação/論文")
    assert "/dissertação/論文" in stream.getvalue()


def test_a_traceback_has_lines_and_nothing_that_acts_on_a_terminal() -> None:
    stream = io.StringIO()
    configure_logging("info", "console", stream)
    try:
        raise ValueError("\x1b[31m")
    except ValueError:
        structlog.get_logger().error("failed", exc_info=True)
    lines = stream.getvalue().split("\n")
    assert len(lines) > 3
    assert all(line.isprintable() for line in lines)
    assert "\\x1b[31m" in stream.getvalue()


@pytest.mark.parametrize(
    "path", ["/sign-in/s3cret", "/sign-in//s3cret", "//Sign-In///s3cret", "/SIGN-IN/ s3cret", "/sign-in/./s3cret/x"]
)
def test_the_secret_of_a_link_that_signs_in_is_covered_however_it_is_written(path: str) -> None:
    event = without_secrets(None, "info", {"path": path})
    assert "s3cret" not in event["path"]
    assert event["path"].lower().lstrip("/").startswith("sign-in/")


@pytest.mark.parametrize(
    "path",
    ["/request/files/s3cret", "/request/files/s3cret/a/b.txt", "//Request//FILES//s3cret", "/request/./files/ s3cret"],
)
def test_the_secret_of_a_link_to_granted_files_is_covered(path: str) -> None:
    event = without_secrets(None, "info", {"path": path, "parts": [f"GET {path} HTTP/1.1"]})
    assert "s3cret" not in str(event)
    assert event["path"].lower().endswith("files/…")
