"""Robots, recognised by their User-Agent.

Short: it stands alone, because it loads a long list.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from counter_robots import is_robot_or_machine

_READ: Final = 512
"""Characters of a User-Agent that are read; no real one is longer."""

# The COUNTER list is case-sensitive, and late in adding robots that crawl or fetch for language models.
_NEWER: Final = re.compile(
    "|".join(
        map(
            re.escape,
            (
                *("AI2Bot", "Ai2Bot-Dolma", "Amazonbot", "anthropic-ai", "Applebot", "Bytespider", "CCBot"),
                *("ChatGPT", "Claude-", "ClaudeBot", "cohere-", "Cotoyogi", "Crawlspace", "DeepSeekBot", "Diffbot"),
                *("DuckAssistBot", "FacebookBot", "facebookexternalhit", "FirecrawlAgent", "FriendlyCrawler"),
                *("Google-CloudVertexBot", "Google-Extended", "GoogleOther", "Google-NotebookLM", "GPTBot"),
                *("iaskspider", "ICC-Crawler", "ImagesiftBot", "img2dataset", "ISSCyberRiskCrawler", "Kangaroo Bot"),
                *("Meta-ExternalAgent", "Meta-ExternalFetcher", "MistralAI-User", "NovaAct", "OAI-SearchBot"),
                *("Omgili", "OpenAI", "PanguBot", "Perplexity-User", "PerplexityBot", "PetalBot", "Scrapy"),
                *("SemrushBot", "Sidetrade", "Timpibot", "TikTokSpider", "VelenPublicWebCrawler", "Webzio"),
                *("YandexAdditional", "YouBot"),
            ),
        )
    ),
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def _judge(user_agent: str) -> bool:
    return bool(_NEWER.search(user_agent)) or is_robot_or_machine(user_agent)


def is_robot(user_agent: str) -> bool:
    """Whether the header User-Agent names a crawler or a script, or is empty."""
    return _judge(user_agent[:_READ])
