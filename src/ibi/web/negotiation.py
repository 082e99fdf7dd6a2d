"""Which of the forms of an answer a client wants (RFC 9110 §12.5.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ibi.web.refusals import NotAcceptable

__all__ = ["choose"]


def choose(accept: Sequence[str], offered: Sequence[str]) -> str:
    """The best of `offered` by the values of Accept, the first of them if there are none; `NotAcceptable` if none will
    do. Of two that are as good, the one named more exactly wins, then the one offered first."""
    if not accept:
        return offered[0]
    ranges = [_range(each) for value in accept for each in value.split(",") if each.strip()]
    if not ranges:
        return offered[0]
    quality = {media: _quality(media, ranges) for media in offered}
    best = max(offered, key=lambda media: (quality[media], -offered.index(media)))
    if quality[best][0] <= 0:
        raise NotAcceptable(offered=" or ".join(offered))
    return best


def _range(text: str) -> tuple[str, float]:
    """A media range and its weight; a weight that cannot be read weighs nothing."""
    media, *parameters = (part.strip().lower() for part in text.split(";"))
    weights = [value for name, _, value in (each.partition("=") for each in parameters) if name.strip() == "q"]
    return media, _weight(weights[0].strip()) if weights else 1.0


def _weight(text: str) -> float:
    # qvalue = ( "0" [ "." 0*3DIGIT ] ) / ( "1" [ "." 0*3("0") ] )
    if len(text) > 5 or not (text.isascii() and text.replace(".", "", 1).isdigit()):
        return 0.0
    return min(1.0, float(text))


def _quality(media: str, ranges: Iterable[tuple[str, float]]) -> tuple[float, int]:
    """The weight of the most exact range that covers `media`, and how exact it is."""
    exactness = {media: 2, f"{media.partition('/')[0]}/*": 1, "*/*": 0}
    covering = [(exactness[each], weight) for each, weight in ranges if each in exactness]
    if not covering:
        return 0.0, 0
    exact = max(each for each, _ in covering)
    return max(weight for each, weight in covering if each == exact), exact
