"""G Algorithm 3, MOUNTNAMEOFREPOSITORYOFANITEM."""

from __future__ import annotations

import ibi
from ibi import Instant, RepositoryName
from ibi.standard.label.generate import (
    mount_prefix_of_repository_name,
    mount_repository_name,
    mount_suffix_of_repository_name,
)


def test_prefix_and_suffix_are_joined_by_a_slash() -> None:
    assert mount_repository_name("sid.inpe.br/mtc-m18", "2009/02.16.17.46") == "sid.inpe.br/mtc-m18/2009/02.16.17.46"


def test_the_concatenation_is_reversible() -> None:
    label = ibi.parse(mount_repository_name("sid.inpe.br/mtc-m18.81", "2009/02.16.17.46.01.5"))
    assert (label.prefix, label.suffix) == ("sid.inpe.br/mtc-m18.81", "2009/02.16.17.46.01.5")


def test_the_value_made_of_the_parts_is_what_algorithms_1_to_3_write() -> None:
    instant = Instant(1234806361, "5")
    written = mount_repository_name(
        mount_prefix_of_repository_name("mtc-m18.sid.inpe.br", 81), mount_suffix_of_repository_name(instant)
    )
    label = RepositoryName.from_parts("mtc-m18.sid.inpe.br", 81, instant)
    assert str(label) == label.spelling == written
    assert ibi.parse(written) == label
