"""Stories that need one, two or three facts for their answer, all equally long and in equal number (after bAbI, tasks 1 to 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from foreword.basics.seeds import chance, number_of
from foreword.tasks.files import Generated, SearchPath
from foreword.tasks.template import Row

PEOPLE = ("mary", "john", "sandra", "daniel")
PLACES = ("kitchen", "garden", "office", "hallway")
THINGS = ("milk", "apple", "ball")


class Stories(Generated):
    """People walk about and carry things. Fields: story, question, answer; `needs` facts show the answer."""

    kind: Literal["stories"] = "stories"
    needs: Literal[1, 2, 3]
    sentences: int = 10
    items: int = 2000  # of each split

    def faults(self) -> list[tuple[str, str]]:
        return [] if self.sentences >= 4 else [("sentences", f"it takes at least 4 (it says {self.sentences}).")]

    def drawn(self, where: SearchPath) -> Sequence[Row]:
        rng = chance(self.seed, number_of(f"{self.needs} facts"))
        found: dict[str, Row] = {}
        while len(found) < 2 * self.items:
            if (made := self._story(rng)) is not None:
                found[made["story"] + made["question"]] = made
        return list(found.values())

    def _story(self, rng: np.random.Generator) -> Row | None:
        """One story and a question of the wanted sort about it, if it has an answer."""
        at: dict[str, str] = {}
        holder: dict[str, str] = {}
        been: dict[str, list[str]] = {thing: [] for thing in THINGS}  # where each thing has been since it was taken
        sentences: list[str] = []
        while len(sentences) < self.sentences:
            person = PEOPLE[int(rng.integers(len(PEOPLE)))]
            free = [thing for thing in THINGS if thing not in holder]
            if person in at and free and rng.random() < 0.3:
                thing = free[int(rng.integers(len(free)))]
                holder[thing], been[thing] = person, [at[person]]
                sentences.append(f"{person} took the {thing}.")
                continue
            place = [one for one in PLACES if one != at.get(person)][int(rng.integers(len(PLACES) - (person in at)))]
            at[person] = place
            for thing in (one for one, who in holder.items() if who == person):
                been[thing].append(place)
            sentences.append(f"{person} went to the {place}.")
        return self._asked(" ".join(sentences), at, been, rng)

    def _asked(
        self, story: str, at: dict[str, str], been: dict[str, list[str]], rng: np.random.Generator
    ) -> Row | None:
        if self.needs == 1:
            asked = sorted(at)
            who = asked[int(rng.integers(len(asked)))]
            return {"story": story, "question": f"where is {who}?", "answer": at[who]}
        moved = [thing for thing, places in been.items() if len(places) >= self.needs]
        if not moved:
            return None
        thing = moved[int(rng.integers(len(moved)))]
        if self.needs == 2:
            return {"story": story, "question": f"where is the {thing}?", "answer": been[thing][-1]}
        now, before = been[thing][-1], been[thing][-2]
        return {"story": story, "question": f"where was the {thing} before the {now}?", "answer": before}
