"""Many Copies at a time: several items are asked for in one request, over a few connections, while others are kept.

Items of which all files are small come with their records. The records of the next ones are on their way while those
that have come are written; so neither the network nor the disk waits for the other.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

from ibi.errors import IbiError
from ibi.label import Label
from ibi.model.copies import ItemObjectRecord
from ibi.ports.content import OnBytes
from ibi.ports.copies import CopyStopped, ItemSource
from ibi.services.copies.copying import Brought, Copying

GROUP: Final = 100
"""Items that are asked for at a time."""
_AHEAD: Final = 3
"""Requests that are under way, or answered, before they are needed."""

Outcome = tuple[Label, Brought | IbiError]
_Asked = tuple[Label, ItemObjectRecord | IbiError | None]


def bring_many(
    copying: Copying,
    labels: Sequence[Label],
    source: str | None,
    token: str | None,
    on_bytes: OnBytes,
    *,
    who: str,
) -> Iterator[Outcome]:
    """What became of each label, as it becomes known. Without a named `source` each is looked for by itself.

    `CopyStopped` ends it, and what the source itself is refused for.
    """
    if source is None:
        for label in labels:
            yield label, _bring_alone(copying, label, token, on_bytes, who)
        return
    with copying.opened(source, token) as archive, ThreadPoolExecutor(_AHEAD, "ibi-copy") as threads:
        asked: deque[Future[list[_Asked]]] = deque()
        for start in range(0, len(labels), GROUP):
            asked.append(threads.submit(_ask, copying, archive, labels[start : start + GROUP]))
            if len(asked) >= _AHEAD:
                yield from _bring_group(copying, archive, asked.popleft().result(), on_bytes, who)
        while asked:
            yield from _bring_group(copying, archive, asked.popleft().result(), on_bytes, who)


def _bring_alone(copying: Copying, label: Label, token: str | None, on_bytes: OnBytes, who: str) -> Brought | IbiError:
    try:
        return copying.bring(label, None, token, on_bytes, who=who)
    except CopyStopped:
        raise
    except IbiError as error:
        return error


def _ask(copying: Copying, archive: ItemSource, labels: Sequence[Label]) -> list[_Asked]:
    """What the Archive says of each; nothing of those that have to be asked for one by one."""
    outcomes: dict[Label, ItemObjectRecord | IbiError | None] = {}
    wanted = []
    for label in labels:
        outcomes[label] = None
        try:
            copying.check_wanted(label)
        except IbiError as error:
            outcomes[label] = error
        else:
            wanted.append(label)
    try:
        for found in archive.read_objects(wanted):
            outcomes[found.label] = found.outcome
    except IbiError:
        pass  # asked one by one, each has an error of its own
    return list(outcomes.items())


def _bring_group(
    copying: Copying, archive: ItemSource, asked: list[_Asked], on_bytes: OnBytes, who: str
) -> Iterator[Outcome]:
    if copying.stopping.is_set():
        raise CopyStopped()
    found = [(label, outcome) for label, outcome in asked if isinstance(outcome, ItemObjectRecord)]
    brought = dict(
        zip((label for label, _ in found), copying.bring_all(archive, found, on_bytes, who=who), strict=True)
    )
    for label, outcome in asked:
        if isinstance(outcome, IbiError):
            yield label, outcome
        elif label in brought:
            yield label, _or_stop(brought[label])
        else:
            yield label, _bring_one(copying, archive, label, on_bytes, who)


def _bring_one(copying: Copying, archive: ItemSource, label: Label, on_bytes: OnBytes, who: str) -> Brought | IbiError:
    try:
        return copying.bring_from(archive, label, on_bytes, who=who)
    except CopyStopped:
        raise
    except IbiError as error:
        return error


def _or_stop(outcome: Brought | IbiError) -> Brought | IbiError:
    if isinstance(outcome, CopyStopped):
        raise outcome
    return outcome
