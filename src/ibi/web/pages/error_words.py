"""Errors that pages show, marked for translation: their sentences, and the clauses that stand in them.

An error translates itself by its English template (`IbiError.message`); here are the templates that no page has beside
what it is about. A test goes through all errors that are told to people, and misses those that are neither here nor
only for programs.
"""

from __future__ import annotations

from typing import Final

from ibi.languages import message

ERROR_WORDS: Final = (
    message("role: {role} is not one of {roles}."),
    message("There is no token {id}: `ibi token list` shows those there are."),
    message("This needs a valid token. It is missing, wrong, expired or revoked."),
    message("This needs a token of the scope {needed}; yours has the scope {scope}."),
    message(
        "{label} belongs to {owner}: {act} needs a token of that account, or one of the scope {needed}. Yours"
        " belongs to {account} and has the scope {scope}."
    ),
    message("Too many letters are being sent at the moment: try again soon."),
    message("The mail to {recipient} was not sent through {server}: {reason}."),
    message("No mail server is set."),
    message("{label} cannot become a Copy here: {reason}."),
    message(
        "{label} cannot become a Copy here: labels that begin with {prefix} are given out by this Archive, "
        "and it has not given this Original to another."
    ),
    message(
        "{source} does not offer its items for Copies: {detail} It is no Archive of this make, or its address is"
        " wrong. {label} may be there all the same: its persistent link leads to its files."
    ),
    message("{peer} takes no transfers: {detail} It is no Archive of this make, or its address is wrong."),
    message("{label} is being copied by another process at this moment."),
    message("It was stopped; what has come is kept, to be gone on with."),
    message("It is not known which Archive keeps {label}: {reason}. Name it with --from http://HOST."),
    message(
        "{source} is not asked for items: {reason}. An administrator can do so on the machine that has the "
        "data directory, or allow networks with `copies.networks`."
    ),
    message("There are {most} jobs under way already: wait until one of them is done."),
    message("There is no job {job}, or it was long ago."),
    message("Name 1 to {most} items, one a line."),
    message("{quoted} is not the address of a server: {reason}."),
    message(
        "The drafts of {owner} hold {size} bytes, those on their way included, and with {more} of {path} "
        "there would be more than the {most} that one depositor may have now, which is {share} % of what the "
        "disk has for drafts: publish or discard a draft, or remove files from one, then send the file again."
    ),
    message("{label} is published: it is changed through a draft of it, which POST to its `draft` makes."),
    message("{path} is being sent over another connection at this moment: ask again a little later."),
    message("There is no upload {upload} of this draft: begin the file anew, unless the draft has it already."),
    message(
        "body: less than {least} bytes a second arrived for {seconds} s, so the upload was ended. The draft "
        "has the files that it had before: send this one again over a faster connection."
    ),
    message("{path}: what is kept of this file is not what was sent. Send it again, then publish."),
    message(
        "There is no room left on the disk of this server. Nothing was changed, and what was kept before is whole."
    ),
    message("{name} was changed meanwhile: it is at version {found}, not {expected}. Look at it again, then repeat."),
    message("{name} has content already."),
    message("{label} is another item's label already: an Archive keeps no two items of one IBI."),
    message(
        "alternates: {alternate} is another name of {label} already, and leads readers there: an Archive "
        "gives it to one item."
    ),
    message(
        "The same key was used for {label} before, with other content ({differences}): nothing was deposited "
        "now. A key stands for one deposit; use a new one for another."
    ),
    message("{label}: {act} is not possible, because {reason}."),
    message("{label} is here already: {act} is not possible, because {reason}."),
    message("{label}: {act} is for the Archive that keeps the Original, and here is a Copy."),
    message(
        "{label} is this Archive's own service: as long as there is the Archive, it is neither deleted nor transferred."
    ),
    message("{label} is marked as not transferable."),
    message("{new} cannot be the next edition of {label}: {label} comes after it already."),
    message(
        "The metadata of {label} has an IBI already, {taken}: withdraw that first, or deposit a translation of it."
    ),
    message("{label} cannot be its own metadata."),
    message("{label} is itself the metadata of {described}, and metadata has no metadata item of its own."),
    message(
        "{label} has a metadata item, {metadata}, so that it cannot be the metadata of another item: metadata"
        " has none of its own."
    ),
    message("{source} has a text in {language} already, {taken}: there is one for each language."),
    message("{label} is itself a translation: name its source, {source}."),
    message(
        "{label} has a text in {language} of its own, {text}, and translations have one source in common: "
        "withdraw that text first, and then name the same source for it."
    ),
    message("language: {label} is known among its translations as the text in {language}, and stays that."),
    message("language: a translation needs a language."),
    message("{claimant} makes no claim on {label}: `ibi claims` lists those there are."),
    message("The claim of {claimant} on {label} was accepted before: `ibi relate --undo` withdraws what {label} says."),
    message(
        "The claim of {claimant} on {label} was withdrawn, or its item does not say so: there is nothing to answer."
    ),
    message(
        "The claim of {claimant} on {label} cannot be accepted yet: its language is not known, because its "
        "Archive could not be asked ({reason}). It is asked again."
    ),
    message("{label} belongs to {other} already, by what it says itself: withdraw that first."),
    message("{label} says no such thing of {other}: there is nothing to withdraw."),
    message("language: {label} is a text in {language}."),
    message("{label} has no version {version}: it has versions 1 to {latest}."),
    message("Version {version} of {label} cannot be restored: {reason}."),
    message("You can read the files of {label} already, or there are none: there is nothing to ask for."),
    message(
        "{draft} is not published at once: this Archive publishes after review. Submit it; a librarian "
        "publishes it or sends it back."
    ),
    message("The CRC-32 of {path} is not known yet."),
    message("{quoted} cannot be the path of a file: {reason}."),
    message("{quoted} is not a date: {reason}."),
    message("{quoted} is not a relation: {reason}."),
    message("{label} was deleted on {when}: {why}"),
    message("Nothing is deposited or changed through this server."),
    message("There is no collection {name}: `/collections` and `ibi collection list` show those there are."),
    message("There is a collection {name} already: choose another name, or change that one."),
    message("No more than {most} {things} can be kept: nothing was added."),
    message(
        "The items of {name} are found by its search: none is put into it or taken out by hand. Change its "
        "search instead, or leave it out."
    ),
    message("The {field} of the collection is refused: {reason}."),
    message("The clock of this machine cannot be trusted."),
    message(
        "The clock of this machine says {now} and is {behind} s behind the last label, {last}: no label is "
        "minted until it has caught up. If the clock is right and the last label wrong, accept it with `ibi "
        "mint --accept-clock`."
    ),
    message(
        "The clock of this machine says {now}, but this software was made on {built}: set the clock, or "
        "accept it with `ibi mint --accept-clock`."
    ),
    message(
        "The clock of this machine jumped by {jump} s to {now} without that much time passing. Minting goes "
        "on when it is back, or when it is accepted with `ibi mint --accept-clock`."
    ),
    message(
        "Another instance mints as {prefix} at {url}: two would give out the same labels. Stop that one, or "
        "have {url} lead to this machine; then minting goes on here by itself. A copy that is only to be read"
        " need not mint."
    ),
    message(
        "{count} labels at a granularity of {granularity} s would take {wait} s, and at most {most} s are "
        "waited for: ask for fewer, or set a finer granularity."
    ),
    message("This minter is stopping and mints no more."),
    message(
        "This data directory mints as {frozen}, the settings say {configured}. Set them back, or accept the "
        "new identity with `ibi mint --accept-identity`: it starts a new clock."
    ),
    message(
        "Labels of {place} would not be unique: {reason}. Give a host and address of your own that the whole "
        "Internet knows, or say that this is a sandbox."
    ),
    message(
        "This data directory is a sandbox ({frozen}) and stays one: what it keeps has labels that others may "
        "have. For labels that last, `ibi init --host HOST --ip ADDRESS --data DIRECTORY` makes a new data "
        "directory."
    ),
    message("The store of this minter cannot be written."),
    message("{label} cannot be transferred: {reason}."),
    message("{peer} does not answer: {reason}."),
    message("{peer} refuses: {detail}"),
    message(
        "This data directory may have been put back from a backup, and {witnesses} could not be asked whether"
        " Originals were given away since: nothing is transferred until they answer. If it was not put back, "
        "say so with `ibi transfers trust`."
    ),
    message(
        "This Archive may have been put back from a backup, and asks others at this moment whether it gave "
        "Originals away since: try again in {retry_after} seconds."
    ),
    message("The release of {label} is not believed: {reason}."),
    message("Tick the box that says that you mean it: {what} cannot be undone."),
    message("{archive} is this Archive itself: it has its own Originals."),
    message("{most} holders of Copies are named already: remove one first."),
    message("{archive} is not named as a holder of Copies, and not offered; `ibi archive holders list` shows all."),
    message("{archive} is named in the settings: take it out of `archive.copies_at`, and start the server again."),
    message("{label} is registered already. Nothing was changed."),
    message(
        "{label} cannot be the home of {prefix}, because {holder} is. Nothing was changed. If both Archives "
        "mint labels with this prefix, say so (`--shared`); if {holder} is gone, name {label} its successor "
        "with `ibi resolver set`."
    ),
    message("No Archive {label} is registered here: `ibi resolver list` shows those that are."),
    message("key: it is one that is tried first, because {reason}. Choose ten or more digits by chance."),
    message("{quoted} cannot be named as the holder: {reason}."),
    message(
        "No Archive disputes who holds the Original of {label}: `ibi resolver disputes` lists those that are disputed."
    ),
    message("{field}: the file is not as this header expects it."),
    message("Range: the file has {size} bytes and none of those asked for."),
    message("The request line and the headers are too large: they have at most {most} bytes and {fields} headers."),
    message("The catalogue was rebuilt while the dump was written, which is therefore not whole. Begin it again."),
    message("The records of this set are still being counted. Ask again in a few seconds."),
)

CLAUSES: Final = (
    message("beginning a draft"),
    message("editing the draft"),
    message("discarding the draft"),
    message("publishing"),
    message("an update"),
    message("recording an edition, a translation or metadata"),
    message("deleting"),
    message("purging"),
    message("making a Copy"),
    message("refreshing the Copy"),
    message("dropping the Copy"),
    message("a transfer to another Archive"),
    message("yielding to the Archive that has the Original"),
    message("a transfer to this Archive"),
    message("it was deleted, and an IBI that is gone never returns"),
    message("it is a draft, which can be edited, published or discarded"),
    message("it is published"),
    message("the Original is here, and an Archive keeps no two items of one IBI"),
    message("the Original is elsewhere"),
    message("there is no such item here"),
    message("it was published before; it can be updated"),
    message("only what was deleted can be purged"),
    message("it is the Original"),
    message("it is the Original: it can be deleted, which leaves a tombstone, or transferred"),
    message("there is a Copy; it can be refreshed"),
    message("it is a Copy"),
    message("{to} is this Archive itself"),
    message("it is the current one"),
    message("it has no content"),
    message("to forget an Archive"),
    message("collections"),
    message("items"),
    message("it is made of small letters, digits and single hyphens, at most {most} of them"),
    message("it is that of another page"),
    message("it is missing"),
    message("it has characters that cannot be shown"),
    message("it finds everything: give words or a filter"),
    message("there is no filter {name}"),
    message("it names more than {most} items"),
    message("{sign} is not allowed"),
    message("it is longer than {longest} bytes"),
    message("a part of it is empty"),
    message("{part} leads elsewhere"),
    message("a part of it is longer than {longest} bytes"),
    message("it cannot be told from {other}"),
)
"""What is to be done with an item, and why it is refused (`ibi.archive.life_cycle`); why a collection, a path or a
version is refused."""
