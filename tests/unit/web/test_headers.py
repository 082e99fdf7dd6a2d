"""Requests that a page of another site makes with somebody's browser."""

from __future__ import annotations

import pytest

from tests.support.membership_app import MembershipApp, query

HOST = ("host", "urlib.net")


@pytest.mark.parametrize(
    "headers",
    [
        [("sec-fetch-site", "cross-site")],
        [("sec-fetch-site", "same-site")],
        [("sec-fetch-site", "rubbish")],
        [("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")],
        [("origin", "http://evil.example")],
        [("origin", "null")],
        [("origin", "http://urlib.net.evil.example")],
        [("origin", "http://urlib.net:8080")],
        [("origin", "http://urlib.net@evil.example")],
        [("referer", "http://evil.example/urlib.net")],
        [("referer", "file:///home/urlib.net")],
        [("referer", "http://[evil")],
        [("referer", "http://urlib.net/page"), ("referer", "http://evil.example/")],
        [("sec-fetch-site", "same-origin"), ("origin", "http://evil.example")],
    ],
)
@pytest.mark.parametrize("subject", ["inclusionRequest", "exclusionRequest"])
async def test_another_site_includes_and_excludes_no_archive(headers: list[tuple[str, str]], subject: str) -> None:
    resolver = MembershipApp()
    await resolver.register()
    if subject == "exclusionRequest":
        await resolver.send()
    before = resolver.found()
    answer = await resolver.send(query(servicesubject=subject), [HOST, *headers])
    assert answer.status == 403
    assert answer.body == b"error {A page of another site sent this request. It was not done.}"
    assert resolver.found() == before


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [HOST],
        [HOST, ("sec-fetch-site", "none"), ("sec-fetch-mode", "navigate")],
        [HOST, ("sec-fetch-site", "same-origin"), ("origin", "https://urlib.net")],
        [HOST, ("referer", "http://URLIB.net/J8LNKB5R7W/3FUQHC5")],
        [("host", "urlib.net:8080"), ("origin", "http://urlib.net:8080")],
    ],
)
async def test_programs_and_people_do(headers: list[tuple[str, str]]) -> None:
    resolver = MembershipApp()
    await resolver.register()
    assert (await resolver.send(None, headers)).status == 200
