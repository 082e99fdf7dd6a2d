"""G Algorithm 7, MOUNTIBIPOFANITEM."""

from __future__ import annotations

import ibi
from ibi import Ibip, Instant
from ibi.standard.label.generate import mount_ibip, mount_prefix_of_ibip, mount_suffix_of_ibip


def test_prefix_and_suffix_are_joined_by_a_slash() -> None:
    assert mount_ibip("8JMKD3MGP8W", "34PGRBS") == "8JMKD3MGP8W/34PGRBS"


def test_the_value_made_of_the_parts_is_what_algorithms_5_to_7_write() -> None:
    instant = Instant(1234806361, "05")
    written = mount_ibip(mount_prefix_of_ibip("2001:252:0:1::2008:6", 802), mount_suffix_of_ibip(instant))
    label = Ibip.from_parts("2001:252:0:1::2008:6", 802, instant)
    assert str(label) == label.spelling == written
    assert ibi.parse(written) == label


def test_label_address_port_and_instant_can_be_decoded() -> None:
    label = Ibip.parse("7URMDHLL9SSN2D89MX34M/34PGRBTW27")
    assert (label.ip, label.port, label.instant) == ("2001:252:0:1::2008:6", 802, Instant(1234806361, "05"))
