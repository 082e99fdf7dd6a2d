"""The IBIp: base-27(IP as text) + `W` or `X` + base-27(port) `/` base-27(seconds) [+ `W` + fraction] (G §7)."""

from __future__ import annotations

from ibi.instant import LAST_SECOND, Instant
from ibi.label.decode import decode_fraction, decode_prefix
from ibi.label.diagnosis import explain_ibip
from ibi.label.generate import mount_prefix_of_ibip, mount_suffix_of_ibip
from ibi.label.grammar import FIRST_DATE, IBIP_FORM
from ibi.label.label import Label
from ibi.label.numerals import decode_ibip
from ibi.label.reach import address_is_global


class Ibip(Label):
    """The form of an IBI that is made from an IP address: short and opaque."""

    __slots__ = ()
    form = "ibip"

    @classmethod
    def parse(cls, text: str) -> Ibip:
        """Read an IBIp, any case; the spelling is kept, `str` gives upper case."""
        label = read_ibip(text)
        if label is None:
            raise explain_ibip(text)
        return label

    @classmethod
    def from_parts(cls, ip: str, port: int, instant: Instant) -> Ibip:
        """G Algorithms 5 to 7: the IBIp given at `instant` by the subsystem at `ip` and `port`."""
        prefix = mount_prefix_of_ibip(ip, port)
        mount_suffix_of_ibip(instant)  # refuses what lies before the first date
        return cls._of(instant.seconds, instant.fraction, prefix, None)

    @property
    def suffix(self) -> str:
        return mount_suffix_of_ibip(self.instant)

    @property
    def ip(self) -> str:
        """The address as its minter spelled it (E7)."""
        return self._address()[0]

    @property
    def port(self) -> int:
        return self._address()[1]

    @property
    def is_global(self) -> bool:
        return address_is_global(self.ip)

    def _address(self) -> tuple[str, int]:
        decoded = decode_prefix(self.prefix)
        assert decoded is not None, self.prefix  # a label exists only with a prefix that decodes
        return decoded


def read_ibip(text: str) -> Ibip | None:
    """The IBIp that `text` is, or None."""
    match = IBIP_FORM.fullmatch(text)
    if match is None:
        return None
    prefix, suffix, coded_fraction = match.groups()
    prefix = prefix.upper()
    if decode_prefix(prefix) is None or (suffix[0] == "2" and suffix != "2"):
        return None
    seconds = FIRST_DATE + decode_ibip(suffix)
    if seconds > LAST_SECOND:
        return None
    fraction = decode_fraction(coded_fraction) if coded_fraction else ""
    return None if fraction is None else Ibip._of(seconds, fraction, prefix, text)
