"""Pairs that differ in one word, as Breaking NLI has them (Glockner et al. 2018): a test of what a model knows of words.

One word of a sentence is exchanged for another of its list. Where words exclude each other (colours, numbers) the pair is a
contradiction; of synonyms, or where the other word is the wider one, an entailment. Two templates are added to the texts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from foreword.basics.files import write_json_lines
from foreword.basics.messages import Fault
from foreword.basics.seeds import chance, number_of
from foreword.tasks.labelled_task import LabelledTask

EXCLUDING = {
    "colors": "red blue green yellow black white brown purple pink orange grey",
    "cardinals": "two three four five six seven eight nine ten eleven twelve",
    "ordinals": "first second third fourth fifth sixth seventh eighth",
    "nationalities": "American French German Italian Spanish Chinese Japanese Indian Russian Brazilian",
    "countries": "France Germany Italy Spain China Japan India Russia Brazil Canada",
    "drinks": "water beer wine coffee tea milk juice lemonade",
    "instruments": "guitar piano violin drums trumpet saxophone flute harmonica accordion",
    "rooms": "kitchen bedroom bathroom garage attic hallway",
    "materials": "wooden metal plastic leather paper glass",
    "planets": "Mercury Venus Earth Mars Jupiter Saturn Uranus Neptune",
    "seasons": "summer winter spring autumn",
}
OPPOSITES = (
    "hot cold, old young, tall short, happy sad, fast slow, big small, large little, wet dry, indoors outdoors, inside outside, "
    "empty full, open closed, clean dirty, asleep awake, up down, above below, near far, many few, light dark, loud quiet, "
    "man woman, boy girl, men women, boys girls"
)
ALIKE = (
    "happy glad, big large, little small, sad unhappy, fast quick, couch sofa, street road, kid child, kids children, "
    "picture photo, bike bicycle, sick ill, beautiful pretty, angry mad, near close"
)
WIDER = (
    "guitar instrument, piano instrument, violin instrument, dog animal, cat animal, horse animal, man person, woman person, "
    "car vehicle, truck vehicle, bus vehicle, apple fruit, banana fruit, soccer sports, football sports, shirt clothing"
)
TEMPLATES = ("The man is holding a {}", "A little girl is very {}")
FILLED = (
    ("guitar", "violin", "piano", "trumpet", "flute", "beer", "apple", "banana", "dog", "cat"),
    ("happy", "sad", "tall", "short", "hot", "cold", "sick", "ill", "glad", "unhappy"),
)
MOST = 2000  # pairs of a label

Pair = tuple[str, str, str, str]  # premise, hypothesis, label, what kind of words


def lexicon() -> dict[str, list[tuple[str, str, str]]]:
    """word -> (another, label, what kind)"""
    found: dict[str, list[tuple[str, str, str]]] = {}

    def add(one: str, other: str, label: str, kind: str) -> None:
        found.setdefault(one, []).append((other, label, kind))

    for kind, listed in EXCLUDING.items():
        for one in listed.split():
            for other in listed.split():
                if one != other:
                    add(one, other, "contradiction", kind)
    for kind, label, listed in (("antonyms", "contradiction", OPPOSITES), ("synonyms", "entailment", ALIKE)):
        for one, other in (pair.split() for pair in listed.split(", ")):
            add(one, other, label, kind)
            add(other, one, label, kind)
    for one, other in (pair.split() for pair in WIDER.split(", ")):
        add(one, other, "entailment", "hypernyms")
    return found


def changed(sentence: str, known: dict[str, list[tuple[str, str, str]]]) -> Iterator[Pair]:
    """Every pair of a sentence: one word differs, and its a or an if it must."""
    words = sentence.split()
    for place, word in enumerate(words):
        bare = word.rstrip(".,!?;:")
        for other, label, kind in known.get(bare, known.get(bare.lower(), [])):
            made = other.capitalize() if bare[:1].isupper() else other
            changed = [*words[:place], made + word[len(bare) :], *words[place + 1 :]]
            if place and words[place - 1].lower() in ("a", "an"):
                article = "an" if made[0].lower() in "aeiou" else "a"
                changed[place - 1] = article.capitalize() if words[place - 1][0].isupper() else article
            yield sentence, " ".join(changed), label, kind


def pairs(sentences: Sequence[str], seed: int = 0, most: int = MOST) -> list[Pair]:
    """In an order drawn from the seed, none twice; of each label at most so many, and no pair has two labels."""
    known = lexicon()
    templates = [template.format(word) for template, words in zip(TEMPLATES, FILLED) for word in words if word in known]
    articled = [re.sub(r"\ba (?=[aeiou])", "an ", sentence) for sentence in templates]
    every: dict[tuple[str, str], Pair] = {}
    labels: dict[tuple[str, str], set[str]] = {}
    for sentence in dict.fromkeys((*articled, *sentences)):
        for pair in changed(sentence, known):
            every.setdefault(pair[:2], pair)
            labels.setdefault(pair[:2], set()).add(pair[2])
    clear = [pair for place, pair in every.items() if len(labels[place]) == 1]
    taken, kept = Counter[str](), []
    for place in chance(seed, number_of("breaking")).permutation(len(clear)).tolist():
        pair = clear[place]
        if taken[pair[2]] < most:
            taken[pair[2]] += 1
            kept.append(pair)
    return kept


def write(task: LabelledTask, path: Path, seed: int = 0) -> str:
    """Pairs of the first texts of a task's test, as Breaking NLI's own file has them; a sentence about them."""
    if not (task.learn.has_classes and len(task.learn.reads) == 2):
        raise Fault(
            f"{task.name} is {task.learn.in_words}: pairs are made of the first texts of a task of pairs.",
            "foreword probe snli --make-breaking pairs.jsonl",
        )
    found = pairs([example.texts[0] for example in task.test], seed)
    names = ("sentence1", "sentence2", "gold_label", "category")
    write_json_lines(path, (dict(zip(names, pair)) for pair in found))
    counts = Counter(pair[2] for pair in found)
    said = ", ".join(f"{count:,} {label}" for label, count in counts.most_common())
    return f"{path}: {len(found):,} pairs ({said}). Score a run on them:  foreword test RUN {path}"
