"""Reading a body with care."""

from __future__ import annotations

import asyncio

import pytest
from starlette.types import Message

from ibi.web.body import read_body
from ibi.web.request_errors import BodyTooLarge, BodyTooSlow, MalformedBody


async def test_a_body_that_never_comes_is_not_waited_for() -> None:
    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(BodyTooSlow):
        await read_body([], receive, patience=0)


async def test_a_body_that_drips_is_not_waited_for_either() -> None:
    async def receive() -> Message:
        await asyncio.sleep(0)
        return {"type": "http.request", "body": b"", "more_body": True}

    with pytest.raises(BodyTooSlow):
        await read_body([], receive, patience=0)


async def test_no_more_is_read_than_is_needed_to_see_that_it_is_too_much() -> None:
    read = 0

    async def receive() -> Message:
        nonlocal read
        read += 1000
        return {"type": "http.request", "body": b"x" * 1000, "more_body": True}

    with pytest.raises(BodyTooLarge):
        await read_body([], receive, most=5000)
    assert read == 6000


async def test_two_lengths_are_one_too_many() -> None:
    async def receive() -> Message:
        raise AssertionError

    with pytest.raises(MalformedBody):
        await read_body([(b"content-length", b"1"), (b"content-length", b"2")], receive)
