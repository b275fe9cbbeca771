"""Categories of objects in words: which a sentence names, and which may be said to be absent from a picture.

A category has names (person: man, lady, catcher), belongs to groups (vehicle, furniture), and may be taken for another
(cup, wine glass, bottle). A closed name means one of its categories and nothing else; an open one is used of other
things too: where no stop sign is, there may still be a sign. Presence is read widely, absence narrowly: any name that
may mean what is there counts as naming it, and only a closed name says that something is not there.

The 80 categories of COCO are in ``data/categories.json``, with sources; further ones have the same form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple

import msgspec

from auscult.language.lexicon import plural
from auscult.shipped import read_shipped

_WORD: Final = re.compile(r"[^\W_]+")
_MOST_KEPT: Final = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryGroup:
    """What several categories are called together."""

    words: tuple[str, ...] = ()  # its names, always open: there are animals that are no category
    members: tuple[str, ...] = ()  # the categories in it


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryTable:
    """Categories as a file holds them; names in small letters, in the singular where there is one."""

    categories: Mapping[str, tuple[str, ...]]  # each category's names; its own name is one of them, listed or not
    groups: Mapping[str, CategoryGroup] = field(default_factory=dict)  # what several are called together, by name
    alike: tuple[tuple[str, ...], ...] = ()  # categories that people take for one another
    open: tuple[str, ...] = ()  # names that are used of other things too
    # categories that are never said to be absent, each with the reason
    unclaimed: Mapping[str, str] = field(default_factory=dict)
    # what one of it is called, of categories without a singular that can be counted: pair of scissors
    one: Mapping[str, str] = field(default_factory=dict)


class Mention(NamedTuple):
    """A name in a sentence."""

    start: int  # its first character
    end: int  # one past its last
    categories: frozenset[str]  # what it may mean
    closed: bool  # whether it means one of these and nothing else


class Categories:
    """What is known of a table's categories; made once, it is read only.

    Example:
        >>> coco = coco_categories()
        >>> sorted(coco.named("the lady with a hot dog"))
        ['hot dog', 'person']
        >>> "bicycle" in coco.absent({"motorcycle"})
        False
    """

    def __init__(self, table: CategoryTable) -> None:
        self.table = table
        self.names = tuple(table.categories)
        self._open = frozenset(table.open)
        self._index: dict[tuple[str, ...], tuple[frozenset[str], bool]] = {}
        for name, others in table.categories.items():
            for word in dict.fromkeys((name, *others)):
                self._add(word, name, closed=word not in self._open)
        for name, group in table.groups.items():
            for member in group.members:
                for word in dict.fromkeys((name, *group.words)):
                    self._add(word, member, closed=False)
        self._longest = max(map(len, self._index), default=0)
        self._related = self._relations()
        self._kept: dict[str, tuple[Mention, ...]] = {}
        self._named = {name: self.named(name) for name in self.names}
        self._absent: dict[frozenset[str], frozenset[str]] = {}

    def _add(self, word: str, name: str, *, closed: bool) -> None:
        for form in {word, plural(word)}:
            key = tuple(_WORD.findall(form.lower()))
            names, sure = self._index.get(key, (frozenset(), True))
            self._index[key] = (names | {name}, closed and sure)

    def _relations(self) -> dict[str, frozenset[str]]:
        """Each category with itself, what shares a closed name with it, what it belongs to, and what it looks like."""
        sets = [set(names) for names in self.table.alike]
        sets += [set(names) for names, closed in self._index.values() if closed]
        sets += [{name, *group.members} for name, group in self.table.groups.items() if name in self.table.categories]
        return {name: frozenset({name}.union(*(group for group in sets if name in group))) for name in self.names}

    def mentions(self, text: str) -> tuple[Mention, ...]:
        """The names in a text, the longest first where they overlap, in order."""
        if text not in self._kept:
            if len(self._kept) > _MOST_KEPT:
                self._kept.clear()
            self._kept[text] = self._mentions(text)
        return self._kept[text]

    def _mentions(self, text: str) -> tuple[Mention, ...]:
        matches = [(match.start(), match.end(), match[0].lower()) for match in _WORD.finditer(text)]
        words = tuple(word for _, _, word in matches)
        mentions, index = [], 0
        while index < len(words):
            for length in range(min(self._longest, len(words) - index), 0, -1):
                entry = self._index.get(words[index : index + length])
                if entry is not None:
                    mentions.append(Mention(matches[index][0], matches[index + length - 1][1], *entry))
                    index += length - 1
                    break
            index += 1
        return tuple(mentions)

    def named(self, text: str) -> frozenset[str]:
        """Every category that a text may name."""
        return frozenset().union(*(mention.categories for mention in self.mentions(text)))

    def mention_at(self, text: str, end: int) -> Mention | None:
        """The name that ends at a character, such as the end of a head noun."""
        return next((mention for mention in self.mentions(text) if mention.end == end), None)

    def meant(self, name: str) -> frozenset[str]:
        """What a category's name in an annotation means here: itself, or what a closed name of that kind means."""
        low = " ".join(_WORD.findall(name.lower()))
        if low in self.table.categories:
            return frozenset((low,))
        names, closed = self._index.get(tuple(low.split()), (frozenset(), False))
        return names if closed else frozenset()

    def related(self, names: Iterable[str]) -> frozenset[str]:
        """These categories and all that are, or may be taken for, one of them."""
        return frozenset().union(*(self._related[name] for name in names))

    def absent(self, present: Iterable[str], looked_for: Iterable[str] | None = None) -> tuple[str, ...]:
        """Categories, in order, that may be said to be absent: not ``present``, and of ``looked_for`` where given."""
        key = frozenset(present)
        if key not in self._absent:
            if len(self._absent) > _MOST_KEPT:
                self._absent.clear()
            related = self.related(key)
            self._absent[key] = frozenset(
                name
                for name in self.names
                if name not in self.table.unclaimed and name not in related and not self._named[name] & related
            )
        chosen = self._absent[key] if looked_for is None else self._absent[key].intersection(looked_for)
        return tuple(name for name in self.names if name in chosen)

    def noun(self, name: str, *, many: bool = False) -> str:
        """The category as a noun that can stand after an article, of one or of several."""
        singular = self.table.one.get(name, name)
        return plural(singular) if many else singular


def joined(first: CategoryTable, second: CategoryTable) -> CategoryTable:
    """Both tables; a name of the second that the first has too has the names of both."""
    categories, groups = dict(first.categories), dict(first.groups)
    for name, words in second.categories.items():
        categories[name] = (*categories.get(name, ()), *words)
    for name, group in second.groups.items():
        old = groups.get(name, CategoryGroup())
        groups[name] = CategoryGroup(words=(*old.words, *group.words), members=(*old.members, *group.members))
    return CategoryTable(
        categories=categories,
        groups=groups,
        alike=(*first.alike, *second.alike),
        open=(*first.open, *second.open),
        unclaimed={**first.unclaimed, **second.unclaimed},
        one={**first.one, **second.one},
    )


@cache
def coco_table() -> CategoryTable:
    """COCO's table."""
    return msgspec.convert(read_shipped("language/data/categories.json"), CategoryTable)


@cache
def coco_categories() -> Categories:
    """COCO's 80 categories."""
    return Categories(coco_table())
