"""Robots, recognised by their User-Agent."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final

from counter_robots import is_robot_or_machine

from ibi.standard.package_data import read_table

_READ: Final = 512
"""Characters of a User-Agent that are read; no real one is longer."""


@cache
def _newer_robots() -> re.Pattern[str]:
    """Return the pattern of the robots that the COUNTER list lacks; that list is case-sensitive, too."""
    words = (word for (word,) in read_table("ibi.usage.rules", "newer_robots.tsv"))
    return re.compile("|".join(map(re.escape, words)), re.IGNORECASE)


@lru_cache(maxsize=4096)
def _judge(user_agent: str) -> bool:
    return bool(_newer_robots().search(user_agent)) or is_robot_or_machine(user_agent)


def is_robot(user_agent: str) -> bool:
    """Return whether the header User-Agent names a crawler or a script, or is empty."""
    return _judge(user_agent[:_READ])
