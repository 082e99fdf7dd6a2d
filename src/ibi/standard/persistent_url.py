"""Persistent URLs, `http://<resolver>/<ibi><modifier><path>?<query>`: typed, linked and requested (R §8.1)."""

from __future__ import annotations

import re
from binascii import unhexlify
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ibi.standard import label as labels
from ibi.standard.errors import ErrorKind, InvalidLabel, InvalidPersistentUrl, InvalidRelation
from ibi.standard.label import Label, match_any, match_label, match_legacy
from ibi.standard.languages import InvalidLanguageTag, LanguageTag
from ibi.standard.relation import Relation, VerbList
from ibi.standard.safe_text import show_octets

MAX_LENGTH: Final = 8192
"""Most characters of a persistent URL after scheme and host, received or written; longer ones are refused unread."""

WORLD_RESOLVER: Final = "http://urlib.net/"
"""The resolver that the standard names in every persistent URL (R Table 8.1)."""
_AT_WORLD_RESOLVER: Final = frozenset(
    f"{scheme}://{www}urlib.net" for scheme in ("http", "https") for www in ("", "www.")
)

QueryPair = tuple[str, str | None]
"""Name and value as received, undecoded; None if there was no `=` (`?wsdl` is not `?wsdl=`)."""


class PunctuatedLabel(InvalidPersistentUrl):
    """{quoted} is not a persistent URL: {reason}."""

    # E35: not found rather than malformed, with the probable link in `details["suggestion"]`.
    code = "punctuated-label"
    kind = ErrorKind.NOT_FOUND


@dataclass(frozen=True, slots=True)
class PersistentUrl:
    """An item's label, and the wanted part or relation of the item.

    `file_path` is decoded and begins with `/`; an octet that is not UTF-8 is in it as PEP 383 encodes it, so that none
    is lost (E33). `file_list` outranks it (E16). `language` replaces a browser's preference (E21). `query` holds the
    pairs meant for the item itself. Every value can be written and read back: `PersistentUrl.parse(str(url)) == url`.
    `InvalidPersistentUrl` is the only error raised here.
    """

    label: Label
    relation: Relation = Relation.ITSELF
    file_list: bool = False
    file_path: str | None = None
    required_original: bool = False
    language: str | None = None
    query: tuple[QueryPair, ...] = ()
    # As received, for a parsed link; a modified copy of it has neither.
    _spelled_path: str | None = field(default=None, init=False, compare=False, repr=False)
    _received: str | None = field(default=None, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.file_path is not None:
            _check_path(self.file_path)
        if self.relation.steps and not self.relation.is_registered:
            raise InvalidPersistentUrl(self.relation.modifier, 0, "there is no such language")
        if self.language is not None:
            _check_language(self.language)
        if self.query:
            _check_query(self.query)
        if self._may_be_too_long() and len(text := self.text("")) > MAX_LENGTH:
            raise _too_long(text, 0)

    @classmethod
    def parse(cls, raw_target: str) -> PersistentUrl:
        """Parse the *undecoded* target of a request, an absolute URL of any resolver, or the input of a person.

        A server that has bytes decodes them as UTF-8 with `surrogateescape`, so that no octet is lost (E33).
        """
        # The most frequent target: `/<label>`. A label needs no decoding and is shorter than any limit.
        if raw_target[:1] == "/":
            found = match_label(raw_target, 1)
            if found is not None and found[1] == len(raw_target):
                return cls(found[0])
        try:
            return _read_url(_Target.cut(raw_target))
        except InvalidPersistentUrl as error:
            raise _punctuation_after_brackets(raw_target) or error from None

    def text(self, base: str, *, keep_spelling: bool = False) -> str:
        """Return the canonical URL under `base`, the resolver's address (`http://urlib.net/`); relative if `base` is
        empty.

        The label is canonical, or with `keep_spelling` as received, for case-sensitive stores. The file path is written
        in its own octets (E33), the verbs as a modifier.
        """
        label = self.label.spelling if keep_spelling else str(self.label)
        path = _percent_encoded(self.file_path or "")
        query = "&".join(self._pairs())
        # `??` right after label or modifier means `:` (E21); the path `/` has no meaning, and separates them.
        path += "/" if query[:1] == "?" and not path else ""
        slash = "/" if base and not base.endswith("/") else ""
        return f"{base}{slash}{label}{self.relation.modifier}{path}{'?' if query else ''}{query}"

    def as_received(self, base: str) -> str:
        """Return the link as received, under `base` in place of scheme and host (R Table 8.11)."""
        if self._received is None:
            return self.text(base, keep_spelling=True)
        return f"{base}{'' if base.endswith('/') else '/'}{self._received}"

    def at_world_resolver(self, own: str) -> str | None:
        """Return the same link at the resolver that the standard names, for an item that is not known here.

        Return None if `own` is that resolver, or if the label has a meaning only in a local network.
        """
        if (self.label.is_dated and not self.label.is_global) or own.rstrip("/").lower() in _AT_WORLD_RESOLVER:
            return None
        return self.text(WORLD_RESOLVER, keep_spelling=True)

    def __str__(self) -> str:
        return self.text(WORLD_RESOLVER)

    @property
    def verb_list(self) -> VerbList:
        """The question for Archives (R Table 8.6): the relation, and whether the list of files is wanted."""
        return VerbList(self.relation, self.file_list)

    @property
    def applied_path(self) -> str | None:
        """The path for Archives: it applies to the item, its last edition or its translation.

        Metadata is requested without it: GetMetadata wins over a path (E16).
        """
        return None if self.relation.asks_metadata else self.file_path

    @property
    def spelled_path(self) -> str | None:
        """The path with its percent signs: as it was in the link, if the link was parsed."""
        if self._spelled_path is not None or self.file_path is None:
            return self._spelled_path
        return _percent_encoded(self.file_path)

    @property
    def shown_path(self) -> str | None:
        """The path for display: octets that are not UTF-8 appear as ISO 8859-1 (E33)."""
        return None if self.file_path is None else show_octets(self.file_path)

    @property
    def query_string(self) -> str:
        """The pairs for the item itself, byte for byte as received."""
        return "&".join(map(_pair_text, self.query))

    # R Table 8.3: ibiurl.requireditemstatus = "Original", ibiurl.verblist = lista-de-verbos; E21: ibiurl.language
    def _pairs(self) -> Iterator[str]:
        if self.language is not None:
            yield f"ibiurl.language={self.language}"
        if self.required_original:
            yield "ibiurl.requireditemstatus=Original"
        if self.file_list:
            yield "ibiurl.verblist=GetFileList"
        yield from map(_pair_text, self.query)

    def _may_be_too_long(self) -> bool:
        """Return False quickly for most URLs.

        A character of a path takes at most twelve when written, and all uncounted parts take less than 1000.
        """
        rest = len(self.query_string) if self.query else 0
        return 12 * len(self.file_path or "") + rest + len(self.relation.metadata_format or "") > MAX_LENGTH - 1000


_BLANKS = " \t\r\n"

# R Table 8.1: URL-persistente = "http://urlib.net/" IBI [mdf] [path-absolute] ["?" pergunta]; any resolver, E26
_ORIGIN = re.compile(r"(?:https?://[^/?#@\\\s]+)?/?", re.ASCII | re.IGNORECASE)
# E21, E35: in any case, once
_PREFIX = re.compile(
    r"(?:\./)?(?:ibi/|rep/|ibi:[ \t]*+|upn:[A-Za-z0-9._-]{1,64}:/?|goto-/|(?:attachment|displaydoccontent)\.cgi/)?",
    re.ASCII | re.IGNORECASE,
)
# E21: the characters around a label in a text, after `IBI:` or not
_SCHEME = re.compile(r"ibi:[ \t]*+(?=[<(\u2039\u00ab])", re.ASCII | re.IGNORECASE)
_BRACKETS: Final = (
    *(("<<", ">>"), ("<", ">"), ("\u2039", "\u203a"), ("\u00ab", "\u00bb"), ("(", ")")),
    ("\udcab", "\udcbb"),  # guillemets in ISO 8859-1
)
_LINK = re.compile(r"https?://[^/?#@\\\s]+/", re.ASCII | re.IGNORECASE)
_AFTER_BRACKETS = re.compile(r"(?:[>)\u203a\u00bb\udcbb]|%(?:3E|29|BB|C2%BB|E2%80%BA))([.,;]+)\Z", re.IGNORECASE)
# E21: the place of an item's files at an Archive, and at older platforms
_COLLECTION = re.compile(r"(?:col|(?:attachment|displaydoccontent)\.cgi)/", re.ASCII | re.IGNORECASE)
_CONTENT = re.compile("/doc(?=/|$)", re.ASCII | re.IGNORECASE)
# E21, E35: citation tags such as -TDI, after either form
_TAG = re.compile(r"(?:-[A-Za-z0-9]+)?")
# A sequence that looks like steps of a modifier; `Relation` checks them
_MODIFIER = re.compile(r"(?:!|[+:](?:\([^()]*\))?)*")
# E35: punctuation of a sentence after a link
_PUNCTUATION = re.compile(r"[.,;)]+")

_BLANK_AT_END = re.compile(r"(?:[ \t\r\n]|%20|%09|%0[AaDd])\Z")
_UNIT = re.compile(r"(%[0-9A-Fa-f]{2})|[\s\S]")


class _Target(NamedTuple):
    """A request target cut at its delimiters.

    `text` is the decoded path after scheme, host and first slash, without the brackets around it; `opened` is the
    number of characters before it. `received` is everything after that slash, as received.
    """

    raw: str
    path_start: int
    path: str
    text: str
    opened: int
    query: str
    received: str

    @classmethod
    def cut(cls, raw: str) -> _Target:
        first, end = _inside_brackets(raw.rstrip(_BLANKS))
        target = raw[:end].partition("#")[0].rstrip(_BLANKS)
        _check_unicode(target)
        origin = _ORIGIN.match(target, first)
        start = origin.end() if origin else first
        if len(target) - start > MAX_LENGTH:
            raise _too_long(raw, start)
        path, _, query = target[start:].partition("?")
        text = _percent_decoded(path).rstrip(_BLANKS)
        opened, end = _inside_brackets(text)
        if query and not opened:
            opened, query = _inside_brackets_with(text, query)
        if opened:
            opened = _end(_LINK, text, opened)  # pasted as a whole behind the host
        return cls(raw, start, path, text[opened:end].rstrip(_BLANKS), opened, query, target[start:])

    def spelled_from(self, offset: int) -> str:
        """Return the end of the path, from `offset` of `text` on, as received."""
        if "%" not in self.path:
            return self.text[offset:]
        before, ends_alike = self.path[: self.opened + offset], not (self.opened or _BLANK_AT_END.search(self.path))
        # Nearly always only the path of the item has escapes, so that they need not be counted.
        start = self.path_start + len(before) if "%" not in before and before.isascii() else self.place(offset)
        end = self.path_start + len(self.path) if ends_alike else self.place(len(self.text))
        return self.raw[start:end]

    def refusal(self, offset: int, reason: str, /, **details: object) -> InvalidPersistentUrl:
        """Return the error about the character at `offset` of `text`."""
        return InvalidPersistentUrl(show_octets(self.raw), self.place(offset), reason, **details)

    def refused_pair(self, pair: str, reason: str, /, **details: object) -> InvalidPersistentUrl:
        """Return the error about a pair of the query."""
        query_start = self.path_start + len(self.path) + 1
        place = max(self.raw.rfind(pair, query_start), query_start)
        return InvalidPersistentUrl(show_octets(self.raw), place, reason, **details)

    def place(self, offset: int) -> int:
        """Return the offset in `raw` of the character at `offset` of `text`."""
        # Both have the same octets; an escape is one octet.
        octets = len(_octets(_percent_decoded(self.path)[: self.opened + offset]))
        for unit in _UNIT.finditer(self.path):
            if octets <= 0:
                return self.path_start + unit.start()
            octets -= 1 if unit[1] else len(_octets(unit[0]))
        return self.path_start + len(self.path)


def _inside_brackets(text: str) -> tuple[int, int]:
    """Return the start and end of the text inside brackets, or of the whole text if there are none around it (E21)."""
    start = _end(_SCHEME, text, 0)
    for opening, closing in _BRACKETS:
        if text.startswith(opening, start) and text.endswith(closing, start + len(opening)):
            inside = text[start + len(opening) : len(text) - len(closing)]
            return len(text) - len(closing) - len(inside.lstrip(_BLANKS)), len(text) - len(closing)
    return 0, len(text)


def _inside_brackets_with(text: str, query: str) -> tuple[int, str]:
    """Return the start of the path, and the query without its closing bracket, if brackets enclose both."""
    start = _end(_SCHEME, text, 0)
    for opening, closing in _BRACKETS:
        if text.startswith(opening, start):
            ends = (closing, _percent_encoded(closing), _percent_encoded(closing).lower())
            found = next((end for end in ends if query.endswith(end)), "")
            return (start + len(opening), query[: len(query) - len(found)]) if found else (0, query)
    return 0, query


def _match_in_brackets(text: str) -> tuple[Label, int] | None:
    """Return the label alone in brackets at the beginning, and the offset after them."""
    start = _end(_SCHEME, text, 0)
    for opening, closing in _BRACKETS:
        if text.startswith(opening, start):
            found = match_any(text, start + len(opening))
            closes = found is not None and text.startswith(closing, found[1])
            return (found[0], found[1] + len(closing)) if found is not None and closes else None
    return None


def _read_url(target: _Target) -> PersistentUrl:
    text = target.text
    content = _read_content(target)
    if content is not None:
        label, start = content
        return _build(target, label, Relation.ITSELF, _read_path(target, start, text[start:]), target.query)
    label, end = _read_label(target)
    start = _end(_TAG, text, end)
    end = _end(_MODIFIER, text, start)
    modifier, path, query = text[start:end], text[end:], target.query
    # E21: `??` is `:`. Browsers send it as an empty query that begins with a question mark, others encode it.
    if path == "??" or (not path and query[:1] == "?"):
        modifier, query, path = f"{modifier}:", query if path else query[1:], ""
    relation = _read_modifier(target, start, modifier)
    if path and _PUNCTUATION.fullmatch(path):
        raise _punctuation_error(target.raw, target.place(end), _build(target, label, relation, None, query))
    return _build(target, label, relation, _read_path(target, end, path), query)


def _end(pattern: re.Pattern[str], text: str, start: int) -> int:
    match = pattern.match(text, start)
    return match.end() if match else start


def _read_content(target: _Target) -> tuple[Label, int] | None:
    """Return the label in `/col/<label>/doc/<path>`, and the start of the path (E21); None if it is no such link."""
    start = _end(_COLLECTION, target.text, 0)
    found = match_any(target.text, start) if start else None
    content = _CONTENT.match(target.text, found[1]) if found is not None else None
    return (found[0], content.end()) if found is not None and content is not None else None


def _read_label(target: _Target) -> tuple[Label, int]:
    """Return the label at the beginning.

    `/ibi/`, `ibi:`, `upn:…:` and similar prefixes are dropped only if no label begins with them.
    """
    start = 0
    found: tuple[Label, int] | None = match_label(target.text)
    if found is None:
        start = _end(_PREFIX, target.text, 0)
        found = match_label(target.text, start) if start else None
    if found is None:
        found = match_legacy(target.text, start) or _match_in_brackets(target.text)
    if found is None:
        raise _no_label(target, start)
    return found


def _no_label(target: _Target, start: int) -> InvalidPersistentUrl:
    """Return the error about the text in place of the label."""
    if start == len(target.text):
        return target.refusal(start, "there is no label in it")
    parts = re.split("[!+:]", show_octets(target.text[start:]), maxsplit=1)[0].split("/")
    is_repository_name = len(parts) > 3 and (parts[2].isdigit() or "." in parts[0])
    try:
        labels.parse("/".join(parts[: 4 if is_repository_name else 2]))
    except InvalidLabel as error:
        return target.refusal(start + error.offset, error.reason, **error.details)
    return target.refusal(start, "there is no label in it")


def _read_modifier(target: _Target, start: int, modifier: str) -> Relation:
    try:
        return Relation.from_modifier(modifier)
    except InvalidRelation as error:
        raise target.refusal(start + error.offset, error.reason, **error.details) from error


def _punctuation_error(raw: str, place: int, meant: PersistentUrl) -> PunctuatedLabel:
    suggestion = meant.text("", keep_spelling=True)
    reason = "punctuation follows the label; perhaps {suggestion} was meant"
    return PunctuatedLabel(show_octets(raw), place, reason, suggestion=suggestion)


def _punctuation_after_brackets(raw: str) -> PunctuatedLabel | None:
    """Return the error about a label in brackets with punctuation after them; None if it is no such text."""
    found = _AFTER_BRACKETS.search(raw.rstrip(_BLANKS))
    if found is None:
        return None
    try:
        meant = _read_url(_Target.cut(raw[: found.start(1)]))
    except InvalidPersistentUrl:
        return None
    return _punctuation_error(raw, found.start(1), meant)


def _read_path(target: _Target, start: int, path: str) -> str | None:
    """Return the path (R Table 8.1: path-absolute); None for `/` alone (E35)."""
    if path in ("", "/"):
        return None
    if path[0] != "/":
        raise target.refusal(start, "{character} cannot follow the label", character=repr(show_octets(path[0])))
    fault = _FAULT.search(path)
    if fault:
        raise target.refusal(start + fault.start(), _FAULTS[str(fault.lastgroup)])
    return path


def _build(target: _Target, label: Label, relation: Relation, path: str | None, query: str) -> PersistentUrl:
    if query:
        own, others = _split_query(target, query)
        verbs = _read_verbs(target, relation, own)
        original = _read_status(target, own)
        language = _read_language(target, own)
        url = PersistentUrl(label, verbs.relation, verbs.file_list, path, original, language, others)
    else:
        url = PersistentUrl(label, relation, file_path=path)
    object.__setattr__(url, "_received", target.received)
    if path is not None:  # the path ends the text
        object.__setattr__(url, "_spelled_path", target.spelled_from(len(target.text) - len(path)))
    return url


_OWN = "ibiurl."
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NOT_PRINTABLE_ASCII = re.compile(r"[^!-~]+")
# R Table 8.1: caractere = %x21-25 | %x27-3C | %x3E-7E; but `#` ends a query, and a value may hold `=` (E13)
_NAME = re.compile(r"[!-\"$%'-<>-~]*")
_VALUE = re.compile(r"[!-\"$%'-~]*")


def _split_query(target: _Target, query: str) -> tuple[dict[str, str], tuple[QueryPair, ...]]:
    """Return the pairs for the resolver, whole, by name; and those for the item, unchanged (E35).

    R Table 8.1 has pergunta = [par ["&" par]]; any number of pairs is allowed (E13).
    """
    control = _CONTROL.search(query)
    if control:
        raise target.refused_pair(control[0], "a query holds no control characters")
    # Input of a person is converted to ASCII as in a browser; input from a browser stays as it is.
    query = _NOT_PRINTABLE_ASCII.sub(lambda unsafe: _percent_encoded(unsafe[0]), query)
    own: dict[str, str] = {}
    others: list[QueryPair] = []
    for pair in filter(None, query.split("&")):
        before, separator, value = pair.partition("=")
        name = _own_name(before)
        if name is None:
            others.append((before, value if separator else None))
        elif own.setdefault(name, pair) is not pair:
            raise target.refused_pair(pair, "{name} is there twice", name=name)
    return own, tuple(others)


def _own_name(name: str) -> str | None:
    """Return the name of a pair for the resolver, in lower case; None for any other."""
    name = show_octets(_percent_decoded(name) if "%" in name else name).lower()
    return name if name.startswith(_OWN) else None


def _value(pair: str) -> str:
    """Return the value of a pair for the resolver: a raw `+` is a blank (R §6.1)."""
    return show_octets(_percent_decoded(pair.partition("=")[2].replace("+", " "))).rstrip(_BLANKS)


def _read_verbs(target: _Target, relation: Relation, own: dict[str, str]) -> VerbList:
    pair = own.get("ibiurl.verblist")
    if pair is None:
        return VerbList(relation)
    try:
        return VerbList.union(relation, _value(pair))
    except InvalidRelation as error:
        raise target.refused_pair(pair, error.reason, **error.details) from error


def _read_status(target: _Target, own: dict[str, str]) -> bool:
    pair = own.get("ibiurl.requireditemstatus")
    if pair is not None and _value(pair).lower() != "original":
        raise target.refused_pair(pair, "the only status that can be required is Original")
    return pair is not None


def _read_language(target: _Target, own: dict[str, str]) -> str | None:
    """Return the language of `ibiurl.language`, else of `ibiurl.backgroundlanguage` (E35); both must be valid."""
    languages: list[str] = []
    for name in ("ibiurl.language", "ibiurl.backgroundlanguage"):
        if name in own:
            try:
                languages.append(str(LanguageTag.parse(_value(own[name]), registered=True)))
            except InvalidLanguageTag as error:
                raise target.refused_pair(own[name], error.reason, **error.details) from error
    return languages[0] if languages else None


def _pair_text(pair: QueryPair) -> str:
    name, value = pair
    return name if value is None else f"{name}={value}"


_ESCAPES_IN_BYTES = re.compile(rb"(?:%[0-9A-Fa-f]{2})+")

# RFC 3986 allows these in a path. `& + =` too, but R Table 6.1 encodes them, and many read `+` as a blank.
_PLAIN = frozenset(b"/-._~!$'()*,:;@0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
_ENCODED = tuple(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in range(256))


def _percent_encoded(text: str) -> str:
    return "".join(map(_ENCODED.__getitem__, _octets(text)))


def _percent_decoded(text: str) -> str:
    """Return `text` decoded once. Other octets than UTF-8 stay (E33); a stray `%` stands for itself (E25)."""
    if "%" not in text and text.isascii():
        return text
    return _ESCAPES_IN_BYTES.sub(lambda run: _bytes(run[0]), _octets(text)).decode("utf-8", "surrogateescape")


def _octets(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _bytes(escapes: bytes) -> bytes:
    return unhexlify(escapes.replace(b"%", b""))


# E35: `.`, `..`, backslash, NUL or empty segments are refused; so is any other control character, which no name needs.
_FAULT = re.compile(
    r"(?P<backslash>\\)|(?P<control>[\x00-\x1f\x7f])|(?P<dots>/\.\.?(?=/|\Z))|(?P<slash>/\Z)|(?P<empty>/(?=/))"
)
_FAULTS: Final = {
    "backslash": "a path has no backslash",
    "control": "a path has no control characters",
    "dots": "a path has no part . or ..",
    "slash": "a path ends in the name of a file, not in /",
    "empty": "a part of the path is empty",
}


def _check_path(path: str) -> None:
    shown = show_octets(path)
    fault = _FAULT.search(path)
    if fault:
        raise InvalidPersistentUrl(shown, fault.start(), _FAULTS[str(fault.lastgroup)])
    if path[:1] != "/":
        raise InvalidPersistentUrl(shown, 0, "a path begins with /")
    if path[-1] == " ":
        raise InvalidPersistentUrl(shown, len(path) - 1, "a blank at the end of a path is lost")
    _check_unicode(path)
    if not path.isascii() and _octets(path).decode("utf-8", "surrogateescape") != path:
        raise InvalidPersistentUrl(shown, 0, "octets that are a letter of UTF-8 stand there one by one")


def _check_language(language: str) -> None:
    try:
        tag = LanguageTag.parse(language, registered=True)
    except InvalidLanguageTag as error:
        raise InvalidPersistentUrl(language, error.offset, error.reason, **error.details) from error
    if str(tag) != language:
        raise InvalidPersistentUrl(language, 0, "it is written {tag}", tag=str(tag))


def _check_query(query: tuple[QueryPair, ...]) -> None:
    for name, value in query:
        if not _NAME.fullmatch(name) or not _VALUE.fullmatch(value or "") or (value is None and not name):
            raise InvalidPersistentUrl(_pair_text((name, value)), 0, "it is not a pair of a query")
        if _own_name(name) is not None:
            raise InvalidPersistentUrl(name, 0, "names that begin with ibiurl. are the resolver's")


def _check_unicode(text: str) -> None:
    if text.isascii():
        return
    try:
        _octets(text)
    except UnicodeEncodeError as error:
        raise InvalidPersistentUrl(text, error.start, "it holds half a surrogate pair") from error


def _too_long(text: str, start: int) -> InvalidPersistentUrl:
    return InvalidPersistentUrl(
        show_octets(text), start + MAX_LENGTH, "it is longer than {most} characters", most=MAX_LENGTH
    )
