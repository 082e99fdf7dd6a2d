"""Labels, their parts and their texts, drawn by hypothesis. Encoding here is written anew: it is an oracle for ours."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

from hypothesis import strategies as st

from ibi import Ibip, Instant, RepositoryName
from ibi.standard.instant import FIRST_SECOND, LAST_SECOND
from ibi.standard.label.grammar import FIRST_DATE

GRAPHEMES = "23456789ABCDEFGHJKLMNPQRSTU"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_DIGITS = "0123456789"

# --- instants --------------------------------------------------------------------------------------------------------

fractions = st.one_of(
    st.just(""),
    st.text(_DIGITS, min_size=1, max_size=3),
    st.text(_DIGITS, min_size=1, max_size=30),
    st.integers(0, 29).map(lambda zeros: "0" * zeros + "1"),
)


def _instants_from(first: int) -> st.SearchStrategy[Instant]:
    """Any; whole minutes; near now; and the first and last there are."""
    seconds = st.one_of(
        st.integers(first, LAST_SECOND),
        st.integers(-(-first // 60), LAST_SECOND // 60).map(lambda minute: minute * 60),
        st.integers(1_200_000_000, 1_900_000_000),
        st.sampled_from([first, first + 1, LAST_SECOND - 1, LAST_SECOND]),
    )
    return st.builds(Instant, seconds, fractions)


instants = _instants_from(FIRST_SECOND)
ibip_instants = _instants_from(FIRST_DATE)

# --- where labels come from ------------------------------------------------------------------------------------------

ports = st.one_of(st.integers(1, 65_535), st.sampled_from([1, 80, 800, 801, 8080, 65_535]))

_alphanumeric = st.sampled_from(_LETTERS + _DIGITS)
_inside = st.text(_LETTERS + _DIGITS + "-", max_size=12)


@st.composite
def words(draw: st.DrawFn) -> str:
    if draw(st.booleans()):
        return draw(_alphanumeric)
    return draw(_alphanumeric) + draw(_inside) + draw(_alphanumeric)


@st.composite
def last_words(draw: st.DrawFn) -> str:
    first = draw(st.sampled_from(_LETTERS))
    return first if draw(st.booleans()) else first + draw(_inside) + draw(_alphanumeric)


hosts = st.one_of(
    st.sampled_from(["mtc-m18.sid.inpe.br", "www.urlib.net", "ibi.localhost", "a.b"]),
    st.builds(lambda start, last: ".".join([*start, last]), st.lists(words(), min_size=1, max_size=5), last_words()),
)


def _rfc_5952(address: IPv6Address) -> str:
    mapped = address.ipv4_mapped
    return str(mapped) if mapped is not None else address.compressed


def _sparse(groups: list[int]) -> str:
    return _rfc_5952(IPv6Address(sum(group << 16 * place for place, group in enumerate(groups))))


_group = st.one_of(st.just(0), st.integers(0, 0xFFFF))
addresses = st.one_of(
    st.integers(1 << 24, (1 << 32) - 1).map(lambda number: str(IPv4Address(number))),
    st.lists(_group, min_size=8, max_size=8).map(_sparse),
    st.sampled_from(["127.0.0.1", "150.163.34.243", "255.255.255.255", "1.0.0.0", "::", "::1", "2001:252:0:1::2008:6"]),
).filter(lambda text: text[0] != "0")

# --- labels ----------------------------------------------------------------------------------------------------------


@st.composite
def repository_texts(draw: st.DrawFn) -> str:
    """A repository name as G Table 6.1 derives it: any port sign, any zeros after the date, any last dot."""
    word, _, subdomain = draw(hosts).partition(".")
    dot = draw(st.sampled_from(["", "", "", "."]))
    port = draw(st.one_of(st.just(""), st.builds("{}{}".format, st.sampled_from(".@"), ports)))
    date = RepositoryName.from_parts("a.b", 80, draw(instants)).suffix
    zeros = draw(st.sampled_from(["", "", ".00", ".00.0"])) if date.count(".") == 3 else ""
    return f"{subdomain}{dot}/{word}{port}/{date}{zeros}"


repository_names = repository_texts().map(RepositoryName.parse)
ibip_parts = st.tuples(addresses, ports, ibip_instants)
ibips = ibip_parts.map(lambda parts: Ibip.from_parts(*parts))
labels = st.one_of(repository_names, ibips)


@st.composite
def respelled(draw: st.DrawFn, text: str) -> str:
    """The same text with some letters in the other case."""
    flips = draw(st.lists(st.booleans(), min_size=len(text), max_size=len(text)))
    return "".join(sign.swapcase() if flip else sign for sign, flip in zip(text, flips, strict=True))


label_texts = st.one_of(repository_texts(), ibips.map(str)).flatmap(respelled)

_strange = st.sampled_from([*"/.@-:WXwx0128 \n\t\0\u212a\u017f\uff11\u0661é\ud800%+!()_", "", "..", "//", "00"])


@st.composite
def mutated(draw: st.DrawFn, text: str) -> str:
    """The text with one to three places cut, replaced, doubled or grown by something odd."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 4)))
        middle = draw(st.one_of(_strange, st.just(text[start:end] * 2), st.text(max_size=2)))
        text = text[:start] + middle + text[end:]
    return text


mutated_labels = label_texts.flatmap(mutated)
any_text = st.one_of(
    st.text(st.characters(codec=None)),  # lone surrogates too
    st.text("abcWX239./@-", max_size=60),
    mutated_labels,
)

# --- an encoding of our own ------------------------------------------------------------------------------------------


def base_27(number: int) -> str:
    text = ""
    while True:
        number, digit = divmod(number, 27)
        text = GRAPHEMES[digit] + text
        if number == 0:
            return text


def number_of(text: str, graphemes: str) -> int:
    return sum(graphemes.index(sign) * len(graphemes) ** place for place, sign in enumerate(reversed(text)))


def ibip_text(ip: str, port: int, instant: Instant) -> str:
    """G Algorithms 5 to 7, corrected by E5."""
    version_4 = "." in ip
    address = base_27(number_of(ip, "0123456789." if version_4 else "0123456789abcdef:"))
    coded_port = "" if port == 800 else base_27(port)
    fraction = instant.fraction
    zeros = len(fraction) - len(fraction.lstrip("0"))
    coded_fraction = f"W{'2' * zeros}{base_27(int(fraction))}" if fraction else ""
    return f"{address}{'W' if version_4 else 'X'}{coded_port}/{base_27(instant.seconds - FIRST_DATE)}{coded_fraction}"
