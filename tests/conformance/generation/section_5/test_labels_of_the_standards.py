"""Labels that the standards print and that are in use on the Web: the two forms of one item share their instant."""

from __future__ import annotations

import pytest

import ibi
from ibi import Ibip, RepositoryName

# IBIp, repository name, address and port behind the IBIp
PAIRS = [
    ("8JMKD3MGP7W/3EPGUE5", "sid.inpe.br/mtc-m19/2013/09.04.12.27.57", "150.163.34.242", 800),
    ("8JMKD3MGP8W/34PGRBS", "sid.inpe.br/mtc-m18@80/2009/02.16.17.46", "150.163.34.243", 800),
    ("8JMKD3MGP8W/35MME4E", "sid.inpe.br/mtc-m18@80/2009/07.21.13.23", "150.163.34.243", 800),
    ("8JMKD3MGP8W/35MMLL8", "sid.inpe.br/mtc-m18@80/2009/07.21.14.43", "150.163.34.243", 800),
    ("LK47B6W/362SFKH", "iconet.com.br/banon/2009/09.09.22.01", "127.0.0.1", 800),
    ("8JMKD3MGP8W/3C9EP6P", "sid.inpe.br/mtc-m18/2012/07.12.18.08", "150.163.34.243", 800),
    ("J8LNKB5R7W/3G2EKR5", "urlib.net/www/2014/03.25.23.20", "150.163.34.64", 800),
    ("8JMKD3MGP7W/385N5PE", "sid.inpe.br/mtc-m19/2010/08.25.12.38", "150.163.34.242", 800),
]

IN_USE = [
    ("8JMKD3MGP3W34T/47GAF6S", "150.163.34.239", 808, "2022-08-25T11:46:00Z"),
    ("QABCDSTQQW/46C4U9H", "200.160.7.168", 800, "2022-02-14T13:19:00Z"),
    ("8JMKD3MGP8W/SFA8LH", "150.163.34.243", 800, "2006-09-19T15:34:00Z"),
    ("J8LNKB5R7W/3FUQHC5", "150.163.34.64", 800, "2014-03-22T01:53:00Z"),
    ("8JMKD3MGP8W/3JUK862", "150.163.34.243", 800, "2015-08-01T02:06:00Z"),
]

REPOSITORY_NAMES_IN_USE = [
    ("dpi.inpe.br/banon/1999/01.09.22.14", "banon.dpi.inpe.br", "1999-01-09T22:14:00Z"),
    ("dpi.inpe.br/banon/1998/08.02.08.56", "banon.dpi.inpe.br", "1998-08-02T08:56:00Z"),
    ("sid.inpe.br/mtc-m21/2012/06.05.15.34.39", "mtc-m21.sid.inpe.br", "2012-06-05T15:34:39Z"),
    ("sid.inpe.br/mtc-m19@80/2009/08.21.17.02", "mtc-m19.sid.inpe.br", "2009-08-21T17:02:00Z"),
    ("sid.inpe.br/mtc-m18@80/2009/07.21.13.23.47", "mtc-m18.sid.inpe.br", "2009-07-21T13:23:47Z"),
]


@pytest.mark.parametrize(("ibip", "rep", "ip", "port"), PAIRS)
def test_the_two_forms_of_one_item_are_made_from_the_same_instant(ibip: str, rep: str, ip: str, port: int) -> None:
    assert Ibip.parse(ibip).instant == RepositoryName.parse(rep).instant


@pytest.mark.parametrize(("ibip", "rep", "ip", "port"), PAIRS)
def test_the_ibip_of_a_pair_comes_out_of_its_address_and_the_other_forms_instant(
    ibip: str, rep: str, ip: str, port: int
) -> None:
    assert str(Ibip.from_parts(ip, port, RepositoryName.parse(rep).instant)) == ibip


@pytest.mark.parametrize(("ibip", "rep", "ip", "port"), PAIRS)
def test_the_repository_name_of_a_pair_has_the_suffix_of_the_other_forms_instant(
    ibip: str, rep: str, ip: str, port: int
) -> None:
    name = RepositoryName.parse(rep)
    assert str(name) == rep
    assert str(RepositoryName.from_parts(name.host, 80, Ibip.parse(ibip).instant)) == rep.replace("@80", "")


@pytest.mark.parametrize(("text", "ip", "port", "instant"), IN_USE)
def test_an_ibip_in_use_on_the_web_tells_its_address_port_and_instant(
    text: str, ip: str, port: int, instant: str
) -> None:
    label = ibi.parse(text)
    assert isinstance(label, Ibip)
    assert (label.ip, label.port) == (ip, port)
    assert str(label.instant) == instant
    assert str(Ibip.from_parts(ip, port, label.instant)) == text


@pytest.mark.parametrize(("text", "host", "instant"), REPOSITORY_NAMES_IN_USE)
def test_a_repository_name_in_use_on_the_web_tells_its_host_and_instant(text: str, host: str, instant: str) -> None:
    label = ibi.parse(text)
    assert isinstance(label, RepositoryName)
    assert (label.host, label.port) == (host, 80)
    assert str(label.instant) == instant
    assert str(label) == text
