"""What an administrator may change of a registration, and which prefixes it may have: a prefix has one home."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ibi.errors import InvalidMessage
from ibi.label import Label, parse
from ibi.label.home_prefix import home_prefix, parse_home_prefix
from ibi.messages.label_forms import LabelForms
from ibi.model.registration import Registration
from ibi.model.visibility import IpNetwork, network
from ibi.resolver.errors import PrefixTaken


@dataclass(frozen=True, slots=True)
class Home:
    """An Archive and the prefixes of which it is the home."""

    label: Label
    prefixes: frozenset[str]

    @classmethod
    def of_registration(cls, registration: Registration) -> Home:
        return cls(registration.labels[0], registration.home_prefixes)

    @classmethod
    def of_service(cls, service: LabelForms) -> Home:
        """The Archive of the server itself, which counts as registered."""
        return cls(service.labels[0], frozenset(map(home_prefix, service.labels)))


def require_free_prefixes(after: Registration, before: Registration | None, others: Iterable[Home]) -> None:
    """Raise `PrefixTaken` if `after` would be the home of a prefix that one of the `others` has.

    One that is shared may. What the registration had `before`, on the same terms, it keeps: a register in which two
    have one prefix from earlier times can still be changed in all other respects.
    """
    if after.shared:
        return
    kept = frozenset() if before is None or before.shared else before.home_prefixes
    gained = after.home_prefixes - kept
    if not gained:
        return
    for other in others:
        taken = sorted(gained & other.prefixes)
        if taken:
            raise PrefixTaken(label=str(after.labels[0]), prefix=taken[0], holder=str(other.label))


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationChange:
    """What an administrator changes of a registration; None leaves a thing as it is."""

    label: Label | None = None
    """The other form of its label."""
    add_prefixes: frozenset[str] = frozenset()
    remove_prefixes: frozenset[str] = frozenset()
    shared: bool | None = None
    vouched: bool | None = None
    successor: Label | None = None
    no_successor: bool = False
    add_hosts: frozenset[str] = frozenset()
    remove_hosts: frozenset[str] = frozenset()
    add_networks: frozenset[IpNetwork] = frozenset()
    remove_networks: frozenset[IpNetwork] = frozenset()
    admin_mail: str | None = None

    @classmethod
    def of_words(
        cls,
        *,
        label: str | None = None,
        add_prefixes: Iterable[str] = (),
        remove_prefixes: Iterable[str] = (),
        shared: bool | None = None,
        vouched: bool | None = None,
        successor: str | None = None,
        no_successor: bool = False,
        add_hosts: Iterable[str] = (),
        remove_hosts: Iterable[str] = (),
        allow: Iterable[str] = (),
        disallow: Iterable[str] = (),
        admin_mail: str | None = None,
    ) -> RegistrationChange:
        """Read from texts; an `InvalidInput` names the one that is wrong. `allow` and `disallow` are networks."""
        if successor is not None and no_successor:
            raise InvalidMessage(successor, 0, "a successor is named or taken away, not both")
        return cls(
            label=None if label is None else parse(label),
            add_prefixes=frozenset(map(parse_home_prefix, add_prefixes)),
            remove_prefixes=frozenset(map(parse_home_prefix, remove_prefixes)),
            shared=shared,
            vouched=vouched,
            successor=None if successor is None else parse(successor),
            no_successor=no_successor,
            add_hosts=frozenset(host.lower() for host in add_hosts),
            remove_hosts=frozenset(host.lower() for host in remove_hosts),
            add_networks=frozenset(map(network, allow)),
            remove_networks=frozenset(map(network, disallow)),
            admin_mail=admin_mail,
        )

    def apply(self, found: Registration, successor: LabelForms | None = None) -> Registration:
        """The registration as it is afterwards; `successor` are the forms of the Archive that `self.successor` names.

        Its key, its date and its inclusion stay. `InvalidInput` if the result cannot be put on record.
        """
        service = found.service if self.label is None else _with_form(found.service, self.label)
        known = frozenset(label.form for label in service.labels)
        return replace(
            found,
            service=service,
            waiting=None if found.waiting is None or found.waiting.form in known else found.waiting,
            prefixes=(found.prefixes | self.add_prefixes) - self.remove_prefixes,
            shared=found.shared if self.shared is None else self.shared,
            vouched=found.vouched if self.vouched is None else self.vouched,
            successor=None if self.no_successor else successor or found.successor,
            hosts=(found.hosts | self.add_hosts) - self.remove_hosts,
            networks=tuple({*found.networks, *self.add_networks} - self.remove_networks),
            admin_mail=self.admin_mail or found.admin_mail,
        )


def _with_form(service: LabelForms, label: Label) -> LabelForms:
    """The form that is missing, or another one in the place of that which is known; one label always stays."""
    rest = [each for each in service.labels if each.form != label.form]
    if not rest and label not in service.labels:
        raise InvalidMessage(
            str(label), 0, "the Archive is registered by {label}; give its other form", label=str(service.labels[0])
        )
    return LabelForms.of(*rest, label)
