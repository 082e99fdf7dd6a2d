"""The forms of one item's IBI in messages: `rep <name>`, `ibip <label>`, or both (R Table 9.4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn

from ibi.standard.errors import InvalidInput, InvalidLabel, InvalidMessage
from ibi.standard.label import Ibip, Label, LegacyLabel, RepositoryName, parse
from ibi.standard.label.label import read_ibip, read_legacy, read_repository_name
from ibi.standard.lru_cache import LruCache
from ibi.standard.relation import Relation

if TYPE_CHECKING:
    from hashlib import _Hash


_FORMS: Final = frozenset({"rep", "ibip"})
_FORM_WORDS: Final = {"rep": "rep", "ibip": "ibip", "legacy": "ibip"}
_MOST_REMEMBERED: Final = 2048
_LONGEST_REMEMBERED: Final = 512
"""Characters: longer texts are not cached, so that long labels cannot fill the memory."""


@dataclass(frozen=True, slots=True)
class LabelForms:
    """One or both labels of an item. Both were made at the same instant (G §5), or they do not name one item."""

    rep: RepositoryName | None = None
    ibip: Ibip | None = None
    legacy: LegacyLabel | None = None
    """The label of before 2008, if it is asked for, or an Archive gives it in place of an IBIp (E72)."""
    labels: tuple[Label, ...] = field(init=False, repr=False, compare=False)
    """The known labels, the repository name first."""

    def __post_init__(self) -> None:
        rep, ibip = self.rep, self.ibip
        if rep is not None and ibip is None and self.legacy is None:  # as most
            object.__setattr__(self, "labels", (rep,))
            return
        labels = tuple(label for label in (rep, ibip, self.legacy) if label is not None)
        if not labels:
            raise InvalidMessage("", 0, "an item has at least one label")
        object.__setattr__(self, "labels", labels)
        if rep is not None and ibip is not None and rep.instant != ibip.instant:
            raise InvalidMessage(str(self), 0, "the two labels were made at different times and cannot name one item")

    # R Table 9.4: formas-de-ibi = forma-rep | forma-ibip | forma-rep " " forma-ibip
    #              forma-rep = "rep " repositório
    #              forma-ibip = "ibip " IBIp
    @classmethod
    def from_words(cls, words: Iterable[str]) -> LabelForms:
        """Parse `rep`, a repository name, `ibip`, an IBIp; either half may be missing, and they may be exchanged."""
        words = tuple(words)
        # Cached, because an Archive names itself and its software in every answer, and many answers are about the same
        # item.
        is_short = len(words) <= 4 and sum(map(len, words)) <= _LONGEST_REMEMBERED
        return _read_remembered(words) if is_short else _read_forms(words)

    @classmethod
    def from_fitting_words(cls, words: Iterable[str], preferred: Label | None = None) -> LabelForms:
        """Parse the words of another platform, without the form that does not fit (E49).

        Raise `InvalidMessage` if none fits. If two labels were made at different times, the `preferred` one is kept, or
        else the name.
        """
        words = tuple(words)
        try:
            return cls.from_words(words)
        except InvalidMessage:
            found = _read_each_form(words)
            if len(found) == 2 and found[1].is_dated:
                found = [label for label in found if label == preferred] or found[:1]
            if not found:
                raise
            return cls.of(*found)

    @classmethod
    def parse(cls, text: str) -> LabelForms:
        """Parse the same from one text, as in an acknowledgment."""
        return cls.from_words(word for word in text.split(" ") if word)

    @classmethod
    def of(cls, *labels: Label) -> LabelForms:
        """Return the forms that consist of these labels, at most one of each form."""
        first = labels[0] if len(labels) == 1 else None
        if isinstance(first, RepositoryName):
            return cls(rep=first)
        if isinstance(first, Ibip):
            return cls(ibip=first)
        legacy = next((label for label in labels if isinstance(label, LegacyLabel)), None)
        if legacy is not None:
            rep = next((label for label in labels if isinstance(label, RepositoryName)), None)
            ibip = next((label for label in labels if isinstance(label, Ibip)), None)
            return cls(rep, ibip, legacy)
        return cls.from_words(word for label in labels for word in (label.form, label.spelling))

    @property
    def words(self) -> tuple[str, ...]:
        """The words between the braces of a pair's value."""
        return tuple(word for label in self.labels for word in (_FORM_WORDS[label.form], label.spelling))

    def may_name(self, label: Label) -> bool:
        """Return whether `label` can be this item's: it is here, or has the missing form and the same instant (E29).

        A label of before 2008 can belong to any item without another known one (E72).
        """
        if not label.is_dated:
            return self.legacy is None or self.legacy == label
        known = self.rep if label.form == "rep" else self.ibip
        if known is not None:
            return label == known
        dated = self.labels[0]
        return not dated.is_dated or label.instant == dated.instant

    def __str__(self) -> str:
        return " ".join(self.words)


def _read_forms(words: tuple[str, ...]) -> LabelForms:
    labels = {form.lower(): label for form, label in zip(words[::2], words[1::2], strict=False)}
    if not words or len(words) != 2 * len(labels) or not labels.keys() <= _FORMS:
        raise InvalidMessage(
            " ".join(words), 0, "the forms of an IBI are given as rep and a name, ibip and a label, or both"
        )
    try:
        rep = RepositoryName.parse(labels["rep"]) if "rep" in labels else None
        ibip = Ibip.parse(labels["ibip"]) if "ibip" in labels else None
    except InvalidLabel as error:
        text = " ".join(words)
        offset = max(text.find(error.text), 0) + error.offset
        raise InvalidMessage(text, offset, error.reason, **error.details) from error
    return LabelForms(rep, ibip)


def _read_each_form(words: tuple[str, ...]) -> list[Label]:
    """Return the readable labels, the repository name first; none of a form that is there twice."""
    if len(words) == 1:  # without the name of its form
        words = ("rep" if "." in words[0] else "ibip", *words)
    given: dict[str, list[str]] = {}
    for form, text in zip(words[::2], words[1::2], strict=False):
        given.setdefault(form.lower(), []).append(text)
    readers: tuple[tuple[str, Callable[[str], Label | None]], ...] = (
        ("rep", read_repository_name),
        ("ibip", lambda text: read_ibip(text) or read_legacy(text)),
    )
    found = (reader(given[form][0]) for form, reader in readers if len(given.get(form, ())) == 1)
    return [label for label in found if label is not None]


# Cached by the exact words: equal labels may be spelled differently, and are sent as they were received.
_read_remembered = lru_cache(maxsize=_MOST_REMEMBERED)(_read_forms)


MAX_KEY: Final = 256
"""R Table 7.1 sets no limit on the digits; no key needs more, and stored values must be bounded."""

# R Table 7.1: chave = número ["-" número]
#              número = 10*DÍGITO
_KEY = re.compile(r"[0-9]{10,}+(?:-[0-9]{10,})?")

_MASK = "…"


class _Key:
    """A secret: `str` and `repr` mask it, errors do not quote it, and comparison takes constant time."""

    __slots__ = ("_text",)
    _text: str

    def __init__(self, text: str) -> None:
        if len(text) > MAX_KEY:
            raise InvalidMessage(_MASK, MAX_KEY, "a key has at most {most} characters", most=MAX_KEY)
        if not _KEY.fullmatch(text):
            raise InvalidMessage(_MASK, 0, "a key is ten or more digits, or two such numbers with a hyphen between")
        object.__setattr__(self, "_text", text)

    def reveal(self) -> str:
        """Return the digits, for a message or a store."""
        return self._text

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        from hmac import compare_digest

        return compare_digest(self._text, other._text)

    def __hash__(self) -> int:
        return hash((type(self), self._text))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_MASK!r})"

    def __str__(self) -> str:
        return _MASK

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a key cannot change: {name}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a key cannot change: {name}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._text,)


class RegistrationKey(_Key):
    """The key that an administrator chose for an Archive; it allows including and excluding the Archive."""

    __slots__ = ()


class UrlKey(_Key):
    """The key that an Archive sends with its URLs and expects in the acknowledgment."""

    __slots__ = ()


# A key is `<unix time>-<digits>` (R Table 7.1). Eight random digits make every key unique. Twenty-four digits are an
# HMAC-SHA256 over time, random digits, item and relation, so that only this Archive can make one. The rest is the
# subject of the key. So nothing is stored per answer, nor guessed from the acknowledgment: after a translation its
# `ibi` is another item's, and it is missing for metadata without an IBI.

LIFETIME: Final = 24 * 3600
"""Lifetime of a key in seconds: longer than its answer may be cached (E32)."""
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
    """The subject of a key, in its signed form and in its transmitted form."""

    text: bytes
    digits: bytes
    rep: RepositoryName | None = None
    """The name under which the item is stored."""


class KnownKey(NamedTuple):
    """A valid key of this Archive: its time and its subject."""

    seconds: int
    label: Label
    relation: Relation
    rep: RepositoryName | None = None
    """For a key that was issued in this process: the name under which the item is stored."""


@dataclass(frozen=True, slots=True)
class UrlKeys:
    """Makes and recognises keys. All processes of one Archive share its `secret`, and nobody else knows it."""

    secret: bytes
    lifetime: int = LIFETIME
    _inner: _Hash = field(init=False, repr=False, compare=False)
    _outer: _Hash = field(init=False, repr=False, compare=False)
    """The two hashes of an HMAC (RFC 2104) that have already processed the secret.

    Signing with copies of them takes a third of the time. They are never changed.
    """

    _issued: LruCache[str, KnownKey] = field(
        default_factory=lambda: LruCache(_MOST_ISSUED), init=False, repr=False, compare=False
    )
    """The keys that were recently issued in this process."""

    def __post_init__(self) -> None:
        from hashlib import sha256  # slow to import, and many importers of this module make no keys

        if len(self.secret) < MIN_SECRET:
            raise ValueError(f"the secret of the url keys has at least {MIN_SECRET} bytes")
        secret = self.secret if len(self.secret) <= _BLOCK else sha256(self.secret).digest()
        padded = secret.ljust(_BLOCK, b"\0")
        object.__setattr__(self, "_inner", sha256(padded.translate(_INNER_PAD)))
        object.__setattr__(self, "_outer", sha256(padded.translate(_OUTER_PAD)))

    def __repr__(self) -> str:
        return f"UrlKeys(…, lifetime={self.lifetime})"

    def subject(self, item: LabelForms, relation: Relation) -> KeySubject:
        """Return the subject for the keys of all answers about that relation of that item; keep it with the answer.

        A name that is too long for a key is signed but not transmitted: such a key counts nothing.
        """
        text = f"{item.ibip or item.rep} {relation.modifier}".encode()  # an IBIp is the shorter of the two
        # A one before the text preserves leading zeros.
        digits = str(int.from_bytes(b"\x01" + text, "big")).encode()
        return KeySubject(text, digits if _HEAD + len(digits) <= MAX_KEY else b"", item.rep)

    def make(self, subject: KeySubject, seconds: int, random: int) -> bytes:
        """Return the key of an answer given at that POSIX second. `random` is a random number below `RANDOM_LIMIT`."""
        head = b"%010d-%08d" % (seconds, random % RANDOM_LIMIT)
        return b"%b%024d%b" % (head, self._mac(head + subject.text), subject.digits)

    def issue(self, subject: KeySubject, seconds: int, random: int) -> UrlKey:
        """Return a key for a resolver in this process, which gives it back soon.

        The key is cached, so that its signature need not be verified.
        """
        key = UrlKey(self.make(subject, seconds, random).decode("ascii"))
        named = (
            _parse_subject(subject.text) if subject.digits else None
        )  # what it does not carry, it does not speak for
        if named is not None:
            self._issued.keep(key.reveal(), KnownKey(seconds, *named, subject.rep))
        return key

    def check(self, key: UrlKey, seconds: int) -> KnownKey | None:
        """Return the content of a key that is ours and valid at that second; None otherwise."""
        known = self._issued.find(key.reveal()) or self._read_signed(key)
        is_good = known is not None and known.seconds - _SLACK <= seconds <= known.seconds + self.lifetime
        return known if is_good else None

    def _read_signed(self, key: UrlKey) -> KnownKey | None:
        """Return the time and subject of a key that we signed; None for any other."""
        from hmac import compare_digest

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
    """Return the text that the digits encode; None if they are not in our notation, or encode none."""
    number = int(digits)
    text = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return text[1:] if text[:1] == b"\x01" and digits[:1] != b"0" else None


@lru_cache(maxsize=1024)
def _parse_subject(subject: bytes) -> tuple[Label, Relation] | None:
    """Parse the subject. Only signed subjects come here, but an older version may have signed them."""
    try:
        label, _, modifier = subject.decode("ascii").partition(" ")
        return parse(label), Relation.from_modifier(modifier, registered=False)
    except (InvalidInput, UnicodeDecodeError):
        return None
