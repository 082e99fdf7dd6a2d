"""What the administrator of an Archive is told by mail when kept content is damaged.

Short: one letter, told apart from the rules of verification.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ibi.model.content import Verification
from ibi.model.letter import Letter
from ibi.safe_text import printable

_MOST: Final = 50
"""Items that one letter names."""

_TEXT: Final = """\
What is kept of {count} of {archive} is damaged:

{items}

What is damaged is not given out, and the items take no new version. Restore the files from a backup
or from a Copy in another Archive, at the same place below the directory store, then run

  ibi verify LABEL

Until then there is one such letter a day at most, and only if more damage was found.
"""


def damage_letter(to: str, archive: str, damaged: Sequence[Verification]) -> Letter:
    """`archive` is the address under which readers know it."""
    count = "1 item" if len(damaged) == 1 else f"{len(damaged)} items"
    lines = [line for item in damaged[:_MOST] for line in _lines(item)]
    if len(damaged) > _MOST:
        lines.append(f"  and {len(damaged) - _MOST} more, named by `ibi archive status`")
    text = _TEXT.format(count=count, archive=archive, items="\n".join(lines))
    return Letter(to, f"{count} damaged: {archive}", text)


def _lines(item: Verification) -> list[str]:
    named = [f"    {_line(f'{problem.path}: {problem.reason}')}" for problem in item.problems[:5]]
    more = [f"    and {len(item.problems) - 5} more"] if len(item.problems) > 5 else []
    return [f"  {item.name}", *named, *more]


def _line(text: str) -> str:
    """On one line, whatever a path holds."""
    return printable(text, "\N{REPLACEMENT CHARACTER}")
