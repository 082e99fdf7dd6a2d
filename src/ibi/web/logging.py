"""The log of a server: one event a line, for people or as JSON, on standard error."""

from __future__ import annotations

import logging
import re
import sys
from typing import Literal, TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

Level = Literal["debug", "info", "warning", "error"]
Format = Literal["console", "json"]

# A token is `ibi_<id>_<secret>`; the id may be known. Any text after `Bearer` is treated as one too.
_TOKEN = re.compile(r"(ibi_[a-z2-7]{1,16}_)[a-z2-7]+")
_BEARER = re.compile(r"(?i)(bearer\s+)(?!ibi_)[^\s\"',]+")
# Links for signing in, and links to granted files, have their secret in the path, even if they are mistyped.
_LINK = re.compile(r"(?i)(/sign-in/|/request/[\s/.]*files/)[\s/]*[^\s\"'?#]+")
_OF_LINES = frozenset({"exception", "stack"})
_SECRET_NAMES = frozenset({"authorization", "cookie", "password", "secret", "token"})


def configure_logging(level: Level = "info", form: Format = "console", stream: TextIO | None = None) -> None:
    """Set up the logs of this process and of its libraries. Call it once, when the process starts."""
    stream = stream or sys.stderr
    number = logging.getLevelNamesMapping()[level.upper()]
    shared: list[Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        structlog.processors.format_exc_info,
        without_secrets,
    ]
    if form == "console":  # JSON escapes unprintable characters itself
        shared.append(printable)
    renderer = _renderer(form, stream)
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(stream),
        cache_logger_on_first_use=True,
    )
    _configure_libraries(max(number, logging.WARNING), shared, renderer, stream)


def _configure_libraries(level: int, shared: list[Processor], renderer: Processor, stream: TextIO) -> None:
    """Set up the standard library's logging, which uvicorn and asyncio use. Only their warnings and errors are
    logged."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)


def _renderer(form: Format, stream: TextIO) -> Processor:
    if form == "json":
        return structlog.processors.JSONRenderer()
    return structlog.dev.ConsoleRenderer(colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback)


def without_secrets(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Mask secrets anywhere in an event."""
    return {name: "…" if name.lower() in _SECRET_NAMES else _mask(value) for name, value in event.items()}


def printable(_: WrappedLogger, __: str, event: EventDict) -> EventDict:
    """Escape characters that would act on a terminal or hide text in the log: they may come from a request."""
    return {name: _escape(value, name in _OF_LINES) for name, value in event.items()}


def _escape(value: object, has_lines: bool) -> object:
    if not isinstance(value, str) or value.isprintable():
        return value
    kept = "\n" if has_lines else ""
    return "".join(
        sign if sign.isprintable() or sign in kept else sign.encode("unicode_escape").decode() for sign in value
    )


def mask_links(text: str) -> str:
    """Return the text with the secrets of links masked."""
    return _LINK.sub(r"\1…", text)


def _mask(value: object) -> object:
    if isinstance(value, str):
        return mask_links(_BEARER.sub(r"\1…", _TOKEN.sub(r"\1…", value)))
    if isinstance(value, dict):
        return {name: "…" if str(name).lower() in _SECRET_NAMES else _mask(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_mask(each) for each in value]
    return value
