"""The patterns of a topic exchange as one automaton, so that a key is matched with all of them at once.

The patterns are a tree of words. What a key leads to so far is a set of places in the tree; each set that was
met is kept as a state, with the states that further words lead to. A word of a key then costs one look-up.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Generic, TypeVar

from emulator.amqp.turn import ITEMS_OF_A_STEP

ONE: Final = "*"
ANY: Final = "#"
_MOST_PLACES: Final = 100_000
"""Places in all states that are kept. Beyond, the states are found anew."""

End = TypeVar("End")


class _Place(Generic[End]):
    """A place in the tree. Most have one child, so that a mapping of their own would cost too much.

    ``ends`` counts the bindings of each end whose pattern leads here. A place below ``#`` ``stays`` for any
    further word.
    """

    __slots__ = ("child", "children", "ends", "stays", "word")

    def __init__(self, *, stays: bool) -> None:
        self.word: str | None = None
        self.child: _Place[End] | None = None
        self.children: dict[str, _Place[End]] | None = None
        self.ends: dict[End, int] | None = None
        self.stays = stays

    def find(self, word: str) -> _Place[End] | None:
        if self.children is not None:
            return self.children.get(word)
        return self.child if self.word == word else None

    def add(self, word: str) -> _Place[End]:
        """The child of a word, which is made where there is none."""
        found = self.find(word)
        if found is None:
            found = _Place(stays=word == ANY)
            if self.children is not None:
                self.children[word] = found
            elif self.word is None or self.child is None:
                self.word, self.child = word, found
            else:
                self.children = {self.word: self.child, word: found}
                self.word = self.child = None
        return found

    def remove(self, word: str) -> None:
        if self.children is not None:
            del self.children[word]
            self.children = self.children or None
        else:
            self.word = self.child = None

    @property
    def is_bare(self) -> bool:
        return self.child is None and self.children is None and not self.ends


class _State(Generic[End]):
    """The places that the words so far have led to, and the states that further words lead to.

    ``other`` is the state after a word that no pattern has here.
    """

    __slots__ = ("_ends", "following", "other", "places")

    def __init__(self, places: tuple[_Place[End], ...]) -> None:
        self.places = places
        self.following: dict[str, _State[End]] = {}
        self.other: _State[End] | None = None
        self._ends: tuple[End, ...] | None = None

    @property
    def ends(self) -> tuple[End, ...]:
        """The ends of a key that leads here, each once."""
        if self._ends is None:
            self._ends = tuple(dict.fromkeys(end for place in self.places for end in place.ends or ()))
        return self._ends


class TopicPatterns(Generic[End]):
    """Patterns, each with the ends of its bindings: ``*`` is one word, ``#`` any number of words."""

    def __init__(self) -> None:
        self._root: _Place[End] = _Place(stays=False)
        self._forget_states()

    def add(self, pattern: str, end: End) -> None:
        place = self._root
        for word in _split(pattern):
            place = place.add(word)
        if place.ends is None:
            place.ends = {}
        place.ends[end] = place.ends.get(end, 0) + 1
        self._forget_states()

    def remove(self, pattern: str, end: End) -> None:
        """Remove a pattern that was added with this end. Raises KeyError where it was not."""
        way = [self._root]
        words = _split(pattern)
        for word in words:
            found = way[-1].find(word)
            if found is None:
                raise KeyError(pattern)
            way.append(found)
        ends = way[-1].ends or {}
        ends[end] -= 1
        if not ends[end]:
            del ends[end]
        for above, word, place in reversed(list(zip(way, words, way[1:], strict=False))):
            if not place.is_bare:
                break
            above.remove(word)
        self._forget_states()

    def match(self, key: str) -> Iterator[End | None]:
        """Yield the ends of all patterns that match a routing key, each once.

        None comes wherever there was work to do, so that a turn may end there.
        """
        state = self._start
        for word in _split(key):
            following = state.following.get(word)
            if following is None:
                following = self._follow(state, word)
                yield None
            if not following.places:
                return
            state = following
        for number, end in enumerate(state.ends, 1):
            yield end
            if not number % ITEMS_OF_A_STEP:
                yield None

    def _follow(self, state: _State[End], word: str) -> _State[End]:
        """The state after one more word. ``#`` in a key is a word that no pattern names."""
        named = [] if word == ANY else [found for each in state.places if (found := each.find(word))]
        if not named and state.other is not None:
            return state.other
        # A word ``*`` in a key has led to these already.
        others = [found for each in state.places if (found := each.find(ONE))] if word != ONE else []
        staying = [each for each in state.places if each.stays]
        following = self._keep(_reach((*named, *others, *staying)))
        if named:
            state.following[word] = following
        else:
            state.other = following
        return following

    def _keep(self, places: tuple[_Place[End], ...]) -> _State[End]:
        key = frozenset(places)
        found = self._states.get(key)
        if found is None:
            self._places_left -= len(places)
            if self._places_left < 0:
                self._forget_states()
            found = self._states[key] = _State(places)
        return found

    def _forget_states(self) -> None:
        self._places_left = _MOST_PLACES
        self._start = _State(_reach((self._root,)))
        self._states = {frozenset(self._start.places): self._start}


def _reach(places: Iterable[_Place[End]]) -> tuple[_Place[End], ...]:
    """The places, each once, and those behind a ``#`` that stands for no word."""
    reached = dict.fromkeys(places)
    waiting = list(reached)
    while waiting:
        behind = waiting.pop().find(ANY)
        if behind is not None and behind not in reached:
            reached[behind] = None
            waiting.append(behind)
    return tuple(reached)


def _split(words: str) -> list[str]:
    return words.split(".") if words else []
