"""An item, which an Archive stores under a label (R §5.2), its draft, and the description that both have.

`created` and `updated` are times of the content for readers. Recording a next edition, or a translation, changes
neither: R Example 10.1 gives the date of 2009 for an item with a next edition of 2012.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from ibi.items.model.description_values import Alternate, checked_alternates, checked_text
from ibi.items.model.file import File, RecordedFiles, checked_path, comparable_path
from ibi.items.model.metadata import DescriptiveMetadata
from ibi.items.model.related_link import RelatedLink
from ibi.items.model.visibility import Visibility
from ibi.standard.document_errors import InvalidItem
from ibi.standard.errors import InvalidInput
from ibi.standard.instant import Instant
from ibi.standard.label import Label, RepositoryName
from ibi.standard.languages import LanguageTag
from ibi.standard.messages import values as wire
from ibi.standard.messages.identification import LabelForms
from ibi.standard.safe_text import show_octets
from ibi.standard.unknown_members import LaterMembers
from ibi.standard.vocabulary import ArchiveProtocol, State


@dataclass(frozen=True, slots=True)
class Tombstone:
    """The time and reason of a deletion, and the replacement."""

    when: Instant
    why: str
    replaced_by: LabelForms | None = None
    purged: bool = False
    """True if earlier versions were deleted too, so that only this is left."""

    def __post_init__(self) -> None:
        checked_text(self.why, "why")


_NO_METADATA: Final = DescriptiveMetadata()

Translations = tuple[tuple[LanguageTag, LabelForms], ...]
"""The members of a group of translations by language, in the order of the tags."""

LONGEST_OWNER: Final = 254
"""Most characters of the name of an account."""

MOST_VERSIONS: Final = (1 << 31) - 1
"""Most publications of one item: the limit for versions of an object."""


def name_one_item(one: LabelForms, other: LabelForms) -> bool:
    """Return whether two sets of forms have a label in common.

    Equal instants alone prove nothing: other minters use them too.
    """
    return not set(one.labels).isdisjoint(other.labels)


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """The content of an item beside its files. The target of a draft may be a file that has not arrived yet."""

    metadata: DescriptiveMetadata = _NO_METADATA
    language: LanguageTag | None = None
    target: str | None = None
    """The path of the file for readers who name none (R Example 9.11: arquivo alvo)."""
    target_url: str | None = None
    """The URL to which readers are sent instead of files: the item is a Web service."""
    edition_of: LabelForms | None = None
    translation_of: LabelForms | None = None
    """The source of the group, if this is not it."""
    describes: LabelForms | None = None
    """The item that this metadata describes."""
    visibility: Visibility = Visibility.PUBLIC
    alternates: tuple[Alternate, ...] = ()
    """Other names that lead to it: labels of before 2008, DOIs, ARKs, handles, addresses."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "alternates", checked_alternates(self.alternates) if self.alternates else ())
        if self.target is not None:
            checked_path(self.target)
        if self.target_url is not None:
            object.__setattr__(self, "target_url", _checked_url(self.target_url))

    def without_relations(self) -> Description:
        """Return the description with which an update begins. Updates do not change the relations of an item."""
        return replace(self, edition_of=None, translation_of=None, describes=None)


_NO_DESCRIPTION: Final = Description()


class HasDescription:
    """Gives the members of its description as its own, for reading: `item.language` is `item.description.language`."""

    __slots__ = ()

    description: Description

    @property
    def metadata(self) -> DescriptiveMetadata:
        return self.description.metadata

    @property
    def language(self) -> LanguageTag | None:
        return self.description.language

    @property
    def target(self) -> str | None:
        return self.description.target

    @property
    def target_url(self) -> str | None:
        return self.description.target_url

    @property
    def edition_of(self) -> LabelForms | None:
        return self.description.edition_of

    @property
    def translation_of(self) -> LabelForms | None:
        return self.description.translation_of

    @property
    def describes(self) -> LabelForms | None:
        return self.description.describes

    @property
    def visibility(self) -> Visibility:
        return self.description.visibility

    @property
    def alternates(self) -> tuple[Alternate, ...]:
        return self.description.alternates


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft(HasDescription):
    """A depositor's input for a publication. It may be incomplete; its present values are valid.

    `files` are kept sorted by path. A draft of a published item has that item's `labels`.
    """

    labels: LabelForms | None = None
    description: Description = _NO_DESCRIPTION
    files: tuple[File, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "files", _sorted_files(self.files))
        object.__setattr__(self, "description", _description_of_files(self.description, self.files))


@dataclass(frozen=True, slots=True, kw_only=True)
class Custody:
    """The place of the Original: where a Copy was taken from, where the Original went, and whether it was deleted."""

    transferable: bool = True
    """True if the Original may be given to another Archive."""
    source: str | None = None
    """The Archive from which a Copy was taken, `host[:port]`."""
    source_protocol: ArchiveProtocol | None = None
    """The protocol for that Archive; HTTP if it is None."""
    original_tombstone: Tombstone | None = None
    """For a Copy: the deletion of its Original, as reported by the Original's Archive."""
    transferred_to: Label | None = None
    """The service of the Archive to which this one gave the Original; the item here is a Copy."""
    tombstone: Tombstone | None = None
    """The deletion of the Original here."""


_ORIGINAL_HERE: Final = Custody()


class InCustody:
    """Gives the members of its custody as its own, for reading: `item.source` is `item.custody.source`."""

    __slots__ = ()

    custody: Custody

    @property
    def transferable(self) -> bool:
        return self.custody.transferable

    @property
    def source(self) -> str | None:
        return self.custody.source

    @property
    def source_protocol(self) -> ArchiveProtocol | None:
        return self.custody.source_protocol

    @property
    def original_tombstone(self) -> Tombstone | None:
        return self.custody.original_tombstone

    @property
    def transferred_to(self) -> Label | None:
        return self.custody.transferred_to

    @property
    def tombstone(self) -> Tombstone | None:
        return self.custody.tombstone


@dataclass(frozen=True, slots=True, kw_only=True)
class Item(HasDescription, InCustody):
    """An item of this Archive: Original, Copy, or Deleted. Only a former Original of this Archive is Deleted.

    `files` are kept sorted by path, `translations` by tag.
    """

    labels: LabelForms
    state: State = State.ORIGINAL
    created: Instant
    updated: Instant
    version: int = 1
    """The number of publications: one at first, and one for every update."""

    description: Description = _NO_DESCRIPTION
    files: Sequence[File] = ()
    """A tuple, or `RecordedFiles`, which are decoded on access."""

    next_edition: LabelForms | None = None
    translations: Translations = ()
    """The known members of the group, by language; perhaps the item itself, in the forms the group knows (E29)."""
    metadata_item: LabelForms | None = None
    """The IBI of its metadata, if it has one."""
    related: tuple[RelatedLink, ...] = ()
    """Reviews and other external resources that were accepted for display with it."""

    custody: Custody = _ORIGINAL_HERE
    owner: str | None = None
    """The account of this Archive to which it belongs; None: the Archive itself."""
    later: tuple[LaterMembers | None, LaterMembers | None] = field(default=(None, None), compare=False, repr=False)
    """Members of its two records that a later version has written and that are unknown here."""
    declined: tuple[LabelForms, ...] = ()
    """Items of other owners with declined claims on this one."""

    def __post_init__(self) -> None:
        if not isinstance(self.files, RecordedFiles):
            object.__setattr__(self, "files", _sorted_files(self.files))
        object.__setattr__(self, "translations", tuple(sorted(self.translations, key=lambda entry: str(entry[0]))))
        object.__setattr__(self, "description", _description_of_files(self.description, self.files))
        self._check_identity()
        self._check_relations()
        self._check_translations()
        self._check_standing()

    def _check_identity(self) -> None:
        if self.labels.rep is None:
            raise InvalidItem(str(self.labels), 0, "every item of an Archive has a repository name", field="labels")
        if self.updated < self.created:
            raise InvalidItem(str(self.updated), 0, "an item is not updated before it is there", field="updated")
        if self.version < 1:
            raise InvalidItem(str(self.labels), 0, "the first version is version 1", field="version")
        if self.version > MOST_VERSIONS:
            raise InvalidItem(str(self.labels), 0, "no item was published so many times", field="version")

    def _check_relations(self) -> None:
        for name in ("edition_of", "next_edition", "translation_of", "metadata_item", "describes"):
            other: LabelForms | None = getattr(self, name)
            if other is not None:
                check_recordable(other, name)
                if name_one_item(other, self.labels):
                    raise InvalidItem(str(other), 0, "{field} names the item itself", field=name)
        if self.edition_of and self.next_edition and name_one_item(self.edition_of, self.next_edition):
            raise InvalidItem(str(self.next_edition), 0, "it is the edition before this one", field="next_edition")
        if self.describes and self.metadata_item:
            raise InvalidItem(str(self.describes), 0, "metadata has no metadata of its own", field="metadata_item")

    def _check_translations(self) -> None:
        if self.translation_of is not None and self.language is None:
            raise InvalidItem(str(self.labels), 0, "a translation needs a language", field="language")
        tags = [tag for tag, _ in self.translations]
        if len(set(tags)) != len(tags):
            raise InvalidItem(" ".join(map(str, tags)), 0, "there is one translation a language", field="translations")
        for tag, forms in self.translations:
            if (tag == self.language) != name_one_item(forms, self.labels):
                raise InvalidItem(
                    str(forms), 0, "the item itself, and no other, is its text in its language", field="translations"
                )

    def _check_standing(self) -> None:
        if (self.state is State.DELETED) != (self.tombstone is not None):
            raise InvalidItem(str(self.labels), 0, "a tombstone stands where something was deleted", field="tombstone")
        if self.tombstone is not None and (self.files or self.target_url):
            raise InvalidItem(str(self.labels), 0, "what was deleted has neither files nor a URL", field="files")
        if self.source is not None and self.state is not State.COPY:
            raise InvalidItem(self.source, 0, "only a Copy was taken from somewhere", field="source")
        if self.source_protocol is not None and self.source is None:
            raise InvalidItem(str(self.labels), 0, "without a source there is no way to it", field="source_protocol")
        if self.original_tombstone is not None and self.state is not State.COPY:
            raise InvalidItem(str(self.labels), 0, "only a Copy outlives its Original", field="original_tombstone")
        if self.transferred_to is not None and self.state is not State.COPY:
            where = str(self.transferred_to)
            raise InvalidItem(where, 0, "of an Original given away a Copy is left, if anything", field="transferred_to")
        if self.source is not None:
            _check_address(self.source)
        if self.owner is not None:
            _check_owner(self.owner)

    @property
    def rep(self) -> RepositoryName:
        """The name under which it is stored."""
        rep = self.labels.rep
        assert rep is not None  # no item is created without it
        return rep

    @property
    def source_url(self) -> str | None:
        """The address of the Archive from which a Copy was taken."""
        scheme = (self.source_protocol or ArchiveProtocol.HTTP).scheme
        return None if self.source is None else f"{scheme}://{self.source}"

    def is_called(self, label: Label) -> bool:
        return label in self.labels.labels

    def translation(self, tag: LanguageTag) -> LabelForms | None:
        """Return the member of its group in that language, as far as this item knows it."""
        return next((forms for known, forms in self.translations if known == tag), None)

    def without_files(self) -> Item:
        """Return the item without files, for lists."""
        return replace(self, files=(), description=replace(self.description, target=None)) if self.files else self

    def with_visibility(self, visibility: Visibility) -> Item:
        return replace(self, description=replace(self.description, visibility=visibility))

    def file(self, path: str) -> File | None:
        """Return the file of that path, without a leading slash; composed and decomposed letters are equal."""
        return _find_file(self.files, path)

    def linked_file(self, path: str) -> File | None:
        """Return the file that a link names by its octets, which are UTF-8 or ISO 8859-1 (E33)."""
        found = _find_file(self.files, path)
        if found is not None or path.isascii():
            return found
        readings = (path.encode("utf-8", "surrogateescape").decode("latin-1"), show_octets(path))
        return next(filter(None, (_find_file(self.files, each) for each in readings)), None)


def _check_address(address: str) -> None:
    try:
        wire.host_and_port(address)
    except InvalidInput as error:
        raise InvalidItem(address, error.offset, error.reason, field="source", **error.details) from error


def _check_owner(owner: str) -> None:
    if not owner.strip() or len(owner) > LONGEST_OWNER or not owner.isprintable():
        reason = "the name of an account has between 1 and {most} characters that can be shown"
        raise InvalidItem(owner, 0, reason, field="owner", most=LONGEST_OWNER)


def check_recordable(forms: LabelForms, field: str) -> None:
    """Raise `InvalidItem` for a label of before 2008 alone, which a record cannot store as a relation."""
    if forms.rep is None and forms.ibip is None:
        raise InvalidItem(str(forms), 0, "items are related by repository name or IBIp, and it is neither", field=field)


def _path(file: File) -> str:
    return file.path


def _find_file(files: Sequence[File], path: str) -> File | None:
    """Return the file of that path among sorted files."""
    index = bisect_left(files, path, key=_path)
    if index < len(files) and (file := files[index]).path == path:
        return file
    if path.isascii():
        return None
    wanted = comparable_path(path)
    names = files.paths if isinstance(files, RecordedFiles) else map(_path, files)
    return next((files[index] for index, name in enumerate(names) if comparable_path(name) == wanted), None)


def _sorted_files(files: Sequence[File]) -> tuple[File, ...]:
    ordered = tuple(sorted(files, key=_path))
    for one, other in pairwise(ordered):
        if one.path == other.path:
            raise InvalidItem(one.path, 0, "two files have this name", field="files")
    return ordered


def checked_target(files: Sequence[File], target: str | None, target_url: str | None) -> str | None:
    """Return the target in the spelling of the file: some systems write composed letters, others decomposed ones."""
    if target_url is not None and files:
        raise InvalidItem(target_url, 0, "an item has files, or a URL instead of them", field="target_url")
    if target is None:
        return None
    file = _find_file(files, target)
    if file is None:
        raise InvalidItem(target, 0, "the main file is not among the files", field="target")
    return file.path


def _description_of_files(description: Description, files: Sequence[File]) -> Description:
    target = checked_target(files, description.target, description.target_url)
    return description if target == description.target else replace(description, target=target)


def _checked_url(url: str) -> str:
    try:
        return wire.url(url)
    except InvalidInput as error:
        raise InvalidItem(url, error.offset, error.reason, field="target_url", **error.details) from error
