"""Robots are told from people."""

from __future__ import annotations

import time

import pytest

from ibi.usage.rules.robots import is_robot

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36"
)
SAFARI = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5"
    " Mobile/15E148 Safari/604.1"
)
AI = (
    "GPTBot OAI-SearchBot ChatGPT-User ClaudeBot Claude-User Claude-SearchBot anthropic-ai PerplexityBot"
    " Perplexity-User Google-Extended GoogleOther Bytespider CCBot Amazonbot Applebot-Extended meta-externalagent"
    " FacebookBot cohere-ai Diffbot DuckAssistBot YouBot PetalBot Timpibot ImagesiftBot Omgili"
).split()
OTHERS = ["Googlebot/2.1 (+http://www.google.com/bot.html)", "bingbot/2.0", "curl/8.5.0", "Wget/1.21", ""]


@pytest.mark.parametrize("agent", [*AI, *OTHERS])
def test_robots(agent: str) -> None:
    assert is_robot(agent)
    assert is_robot(f"Mozilla/5.0 (compatible; {agent}/1.2; +https://example.org/bot)")


@pytest.mark.parametrize("agent", [FIREFOX, CHROME, SAFARI])
def test_people(agent: str) -> None:
    assert not is_robot(agent)


def test_a_hostile_name_takes_no_time() -> None:
    started = time.perf_counter()
    for index in range(20):
        is_robot(f"{index} " + "Mozilla/5.0+" * 100_000)
    assert time.perf_counter() - started < 1
