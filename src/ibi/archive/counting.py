"""What counts as use of an item: acknowledged resolutions (E32) and downloads, robots apart; and the urlkey by which an
Archive knows its own answer again when it is acknowledged (R §9.2).

Nothing is remembered of a client longer than the half minute within which a second click is the same wish.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from hmac import compare_digest
from typing import TYPE_CHECKING, Final, NamedTuple

from ibi.errors import InvalidInput
from ibi.instant import Instant
from ibi.label import Label, RepositoryName, parse
from ibi.lru_cache import LruCache
from ibi.messages.key import MAX_KEY, UrlKey
from ibi.messages.label_forms import LabelForms
from ibi.messages.requests import Acknowledgment
from ibi.model.item import Item
from ibi.model.usage import ReferrerClass, UsageDay, UsageKind, day_of
from ibi.origin import authority_of
from ibi.relation import Relation

if TYPE_CHECKING:
    from hashlib import _Hash

# --- the urlkey -------------------------------------------------------------------------------------------------------

# The urlkey: by it an Archive knows its own answer again when the resolver acknowledges it (R §9.2).
#
# `<unix time>-<digits>` (R Table 7.1): eight digits of chance, so that every answer has another key; twenty-four of an
# HMAC-SHA256 over time, chance, item and relation, so that only this Archive can make one; and what it speaks for, so
# that nothing has to be written down per answer nor guessed from the acknowledgment, whose `ibi` is another item's
# after a translation and is missing where metadata has no IBI.

LIFETIME: Final = 24 * 3600
"""Seconds for which a key is good: longer than the answer it came with may be cached (E32)."""
MIN_SECRET: Final = 32

_RANDOM_DIGITS: Final = 8
RANDOM_LIMIT: Final = 10**_RANDOM_DIGITS
"""`random` is a number below this one."""

_MAC_DIGITS: Final = 24
_MAC_LIMIT: Final = 10**_MAC_DIGITS
_TIME_DIGITS: Final = 10
_HEAD: Final = _TIME_DIGITS + 1 + _RANDOM_DIGITS + _MAC_DIGITS
_BLOCK: Final = 64
_INNER_PAD: Final = bytes(byte ^ 0x36 for byte in range(256))
_OUTER_PAD: Final = bytes(byte ^ 0x5C for byte in range(256))
_MOST_ISSUED: Final = 50_000
_SLACK: Final = 60
"""Seconds by which a key may be ahead: several machines answer for one Archive, and their clocks differ."""


@dataclass(frozen=True, slots=True)
class KeySubject:
    """What a key speaks for, as it is signed and as it is carried."""

    text: bytes
    digits: bytes
    rep: RepositoryName | None = None
    """The name under which the item is kept."""


class KnownKey(NamedTuple):
    """A key of ours that is still good: when it was made, and what for."""

    seconds: int
    label: Label
    relation: Relation
    rep: RepositoryName | None = None
    """Of a key that was issued in this process: the name under which the item is kept."""


@dataclass(frozen=True, slots=True)
class UrlKeys:
    """Makes and recognises keys. All processes that answer for one Archive share its `secret`, which is known to them
    alone."""

    secret: bytes
    lifetime: int = LIFETIME
    _inner: _Hash = field(init=False, repr=False, compare=False)
    _outer: _Hash = field(init=False, repr=False, compare=False)
    """The two hashes of an HMAC (RFC 2104), which have taken in the secret already: copies of them sign in a third of
    the time that it takes from the secret on. Never changed themselves."""

    _issued: LruCache[str, KnownKey] = field(
        default_factory=lambda: LruCache(_MOST_ISSUED), init=False, repr=False, compare=False
    )
    """The keys that were given within this process lately."""

    def __post_init__(self) -> None:
        if len(self.secret) < MIN_SECRET:
            raise ValueError(f"the secret of the url keys has at least {MIN_SECRET} bytes")
        secret = self.secret if len(self.secret) <= _BLOCK else sha256(self.secret).digest()
        padded = secret.ljust(_BLOCK, b"\0")
        object.__setattr__(self, "_inner", sha256(padded.translate(_INNER_PAD)))
        object.__setattr__(self, "_outer", sha256(padded.translate(_OUTER_PAD)))

    def __repr__(self) -> str:
        return f"UrlKeys(…, lifetime={self.lifetime})"

    def subject(self, item: LabelForms, relation: Relation) -> KeySubject:
        """What the keys of all answers about that relation of that item carry; to be kept with the answer.

        A name that is too long for a key is signed and not carried: such a key counts nothing.
        """
        text = f"{item.ibip or item.rep} {relation.modifier}".encode()  # an IBIp is the shorter of the two
        # A one before the text keeps it from losing what would be leading zeros.
        digits = str(int.from_bytes(b"\x01" + text, "big")).encode()
        return KeySubject(text, digits if _HEAD + len(digits) <= MAX_KEY else b"", item.rep)

    def make(self, subject: KeySubject, seconds: int, random: int) -> bytes:
        """The key of an answer given at that POSIX second. `random` is chance below `RANDOM_LIMIT`."""
        head = b"%010d-%08d" % (seconds, random % RANDOM_LIMIT)
        return b"%b%024d%b" % (head, self._mac(head + subject.text), subject.digits)

    def issue(self, subject: KeySubject, seconds: int, random: int) -> UrlKey:
        """The same for a resolver in this process, which gives it back in a moment: it is remembered, and its signature
        need not be checked."""
        key = UrlKey(self.make(subject, seconds, random).decode("ascii"))
        named = (
            _parse_subject(subject.text) if subject.digits else None
        )  # what it does not carry, it does not speak for
        if named is not None:
            self._issued.keep(key.reveal(), KnownKey(seconds, *named, subject.rep))
        return key

    def check(self, key: UrlKey, seconds: int) -> KnownKey | None:
        """What the key says, if it is one of ours and still good at that second; None for everything else."""
        known = self._issued.find(key.reveal()) or self._read_signed(key)
        is_good = known is not None and known.seconds - _SLACK <= seconds <= known.seconds + self.lifetime
        return known if is_good else None

    def _read_signed(self, key: UrlKey) -> KnownKey | None:
        """When it was made and for what, if it was signed by us."""
        text = key.reveal().encode()
        head, mac, carried = text[: _HEAD - _MAC_DIGITS], text[_HEAD - _MAC_DIGITS : _HEAD], text[_HEAD:]
        if len(mac) != _MAC_DIGITS or not carried or head[_TIME_DIGITS : _TIME_DIGITS + 1] != b"-":
            return None
        subject = _decode_subject(carried)
        if subject is None or not compare_digest(b"%024d" % self._mac(head + subject), mac):
            return None
        named = _parse_subject(subject)
        return None if named is None else KnownKey(int(head[:_TIME_DIGITS]), *named)

    def _mac(self, signed: bytes) -> int:
        inner = self._inner.copy()
        inner.update(signed)
        outer = self._outer.copy()
        outer.update(inner.digest())
        return int.from_bytes(outer.digest()[:16], "big") % _MAC_LIMIT


def _decode_subject(digits: bytes) -> bytes | None:
    """The text that the digits stand for; None if they are not written as we write them, or stand for none."""
    number = int(digits)
    text = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return text[1:] if text[:1] == b"\x01" and digits[:1] != b"0" else None


@lru_cache(maxsize=1024)
def _parse_subject(subject: bytes) -> tuple[Label, Relation] | None:
    """Only what we have signed comes here; but an older version of ours may have signed it."""
    try:
        label, _, modifier = subject.decode("ascii").partition(" ")
        return parse(label), Relation.from_modifier(modifier, registered=False)
    except (InvalidInput, UnicodeDecodeError):
        return None


# --- use --------------------------------------------------------------------------------------------------------------

WINDOW: Final = 30
"""Seconds within which the same client wanting the same thing counts once (E32; COUNTER's double click)."""
MOST_REMEMBERED: Final = 100_000
"""Wishes remembered at once, so that a flood cannot fill the memory: beyond it the oldest are forgotten early."""
MOST_COUNTED: Final = 10_000
"""Resolutions that one key stands for. A resolver keeps an answer for five minutes and thanks with its key for every
reader meanwhile: that many are thirty-three new readers of one item a second. A resolver with more readers asks anew
for each ten thousand."""

_MOST_KEYS: Final = 10_000
_SOME: Final = range(16)
"""How many are forgotten at a time, so that no request after a flood waits until all of it is forgotten."""


class Recent:
    """Wishes of the last half minute, one memory for each process: what it forgets is counted once more, no worse.

    Kept is a number that follows from a wish and not the wish, which may be long: sixty-four addresses. If two of them
    ever agree, one is not counted.
    """

    __slots__ = ("_by_key", "_most", "_most_counted", "_seen", "_window")

    def __init__(self, window: int = WINDOW, most: int = MOST_REMEMBERED, *, most_counted: int = MOST_COUNTED) -> None:
        self._window, self._most, self._most_counted = window, most, most_counted
        self._seen: OrderedDict[int, int] = OrderedDict()
        self._by_key: OrderedDict[int, int] = OrderedDict()

    def is_first(self, wish: Hashable, seconds: int) -> bool:
        """Whether this is the first such wish within the window; it is remembered if so.

        A wish that is repeated is measured from when it counted: an hour of clicks counts every half minute.
        """
        number = hash(wish)
        self._forget(seconds)
        before = self._seen.get(number)
        if before is not None and abs(seconds - before) < self._window:
            return False
        self._seen[number] = seconds
        if before is not None:
            self._seen.move_to_end(number)
        return True

    def is_within_share(self, key: Hashable) -> bool:
        """Whether a key counts once more; from then on it has. Those that counted first are forgotten first."""
        number = hash(key)
        counted = self._by_key.get(number, 0)
        if counted >= self._most_counted:
            return False
        self._by_key[number] = counted + 1
        if not counted and len(self._by_key) > _MOST_KEYS:
            self._by_key.popitem(last=False)
        return True

    def _forget(self, seconds: int) -> None:
        """Some of the oldest: they are in the order in which they came, which is that of their times. A clock set back
        keeps no wish for ever."""
        seen = self._seen
        for _ in _SOME:
            if not seen or (len(seen) < self._most and abs(seconds - next(iter(seen.values()))) < self._window):
                return
            seen.popitem(last=False)

    def __len__(self) -> int:
        return len(self._seen)


def counted_acknowledgment(
    acknowledgment: Acknowledgment,
    rep_of: Callable[[Label], RepositoryName | None],
    keys: UrlKeys,
    recent: Recent,
    now: Instant,
) -> tuple[UsageDay, UsageKind] | None:
    """The resolution that an acknowledgment stands for; None if its key is not ours, not good any more, or has counted:
    for this client just now, or for very many.

    `rep_of` tells which of the items here has a label. It counts for the item that was asked for here, as the key says.
    Resolvers speak for people and robots alike: which it was, only an extra pair of the acknowledgment tells. From one
    that does not send it all count as people, and the download tells.
    """
    known = keys.check(acknowledgment.url_key, now.seconds)
    rep = None if known is None else known.rep or rep_of(known.label)
    if rep is None:
        return None
    key = acknowledgment.url_key.reveal()
    is_new = recent.is_first((key, acknowledgment.client_addresses), now.seconds)
    if not (is_new and recent.is_within_share(key)):
        return None
    return UsageDay(rep, day_of(now)), _resolution_kind(robot=acknowledgment.is_robot)


def counted_resolution(
    item: Item, client: str, recent: Recent, now: Instant, *, robot: bool
) -> tuple[UsageDay, UsageKind] | None:
    """A resolution by this Archive itself, without a resolver and so without an acknowledgment."""
    if not recent.is_first((item.rep, client), now.seconds):
        return None
    return UsageDay(item.rep, day_of(now)), _resolution_kind(robot=robot)


def _resolution_kind(*, robot: bool) -> UsageKind:
    return UsageKind.ROBOT_RESOLUTION if robot else UsageKind.RESOLUTION


def counts_as_download(method: str, status: int, first_byte: int) -> bool:
    """Whether an HTTP exchange delivered the file: a GET that was answered with its bytes from the first one on.

    Parts that follow belong to the same download; a HEAD, and a 304 for what a reader has already, are none.
    """
    return method == "GET" and status in (200, 206) and first_byte == 0


def counted_download(
    item: Item, path: str, client: str, recent: Recent, now: Instant, *, robot: bool
) -> tuple[UsageDay, UsageKind] | None:
    """The download of a file by `client`, an address or whatever else tells clients apart; None for a double click."""
    if not recent.is_first((item.rep, path, client), now.seconds):
        return None
    return UsageDay(item.rep, day_of(now)), UsageKind.ROBOT_DOWNLOAD if robot else UsageKind.DOWNLOAD


# --- where readers come from ------------------------------------------------------------------------------------------

_SCHOLARLY: Final = frozenset(
    (
        "academia.edu adsabs.harvard.edu arxiv.org base-search.net biorxiv.org core.ac.uk crossref.org datacite.org"
        " dimensions.ai doaj.org doi.org europepmc.org hal.science lens.org mendeley.com ncbi.nlm.nih.gov oalib.com"
        " openaire.eu openalex.org orcid.org osf.io persee.fr philpapers.org plos.org pubmed.gov redalyc.org"
        " researchgate.net scielo.br scielo.org scopus.com semanticscholar.org ssrn.com unpaywall.org urlib.net"
        " webofscience.com wikidata.org wikipedia.org worldcat.org zenodo.org zotero.org"
    ).split()
)
_SOCIAL: Final = frozenset(
    (
        "bsky.app discord.com facebook.com fb.com instagram.com linkedin.com lnkd.in mastodon.social medium.com"
        " messenger.com pinterest.com quora.com reddit.com t.co t.me telegram.org threads.net tiktok.com tumblr.com"
        " twitter.com vk.com wa.me weibo.com whatsapp.com x.com youtube.com"
    ).split()
)
_SEARCH: Final = frozenset(
    (
        "baidu.com bing.com duckduckgo.com ecosia.org kagi.com mojeek.com naver.com perplexity.ai qwant.com"
        " search.brave.com seznam.cz sogou.com startpage.com swisscows.com yandex.com yandex.ru"
    ).split()
)
_SEARCH_NAMES: Final = ("google", "yahoo", "bing", "yandex")
"""Search engines that have a domain in every country."""
_LONGEST_REFERRER: Final = 2_000


def classify_referrer(referrer: str, own_hosts: frozenset[str]) -> ReferrerClass:
    """From what kind of place a reader came, by the header Referer; `own_hosts` are those of this site, with ports.

    What is not an address counts as none. The address itself is forgotten here.
    """
    if not referrer or len(referrer) > _LONGEST_REFERRER or not referrer.lower().startswith(("http://", "https://")):
        return ReferrerClass.DIRECT
    authority = authority_of(referrer).rpartition("@")[2].lower()
    host = authority.partition(":")[0].rstrip(".")
    if not host:
        return ReferrerClass.DIRECT
    if authority in own_hosts:
        return ReferrerClass.HERE
    return _class_of_host(host)


@lru_cache(maxsize=4096)
def _class_of_host(host: str) -> ReferrerClass:
    parts = host.split(".")
    domains = frozenset(".".join(parts[index:]) for index in range(len(parts) - 1))
    if parts[0] == "scholar" or domains & _SCHOLARLY:
        return ReferrerClass.SCHOLARLY
    if domains & _SOCIAL:
        return ReferrerClass.SOCIAL
    # Of a name in every country, the part before the ending: google.com.br, and not google.example.com.
    if domains & _SEARCH or any(name in parts[-3:-1] and len(parts[-1]) <= 3 for name in _SEARCH_NAMES):
        return ReferrerClass.SEARCH
    return ReferrerClass.WEB
