"""WebText's first stages on links made by hand: exact survivors, exact counters."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from foreword.basics.messages import Fault
from foreword.basics.shards import Workers
from foreword.text.links import LinkRules, collect_links

EARLY, LATE = 1_500_000_000, 1_512_086_400  # July 2017; 2017-12-01 00:00 UTC to the second


def submission(number: int, url: str, score: object = 5, time: object = EARLY, **more: object) -> str:
    return json.dumps({"id": str(number), "title": "t", "url": url, "score": score, "created_utc": time, **more}) + "\n"


LINKS = [
    submission(0, "http://a.example/1"),
    submission(1, "https://a.example/2", 3),
    submission(2, "http://a.example/3", 2),
    submission(3, "http://a.example/4", time=LATE),
    submission(4, "http://a.example/5", time=str(LATE - 1)),  # older files have it as a text
    submission(5, "https://en.wikipedia.org/wiki/Mill"),
    submission(6, "https://de.m.wikipedia.org/wiki/M%C3%BChle"),
    submission(7, "https://notwikipedia.org/"),
    submission(8, "https://www.reddit.com/r/x/comments/1", is_self=True),
    submission(9, "https://i.redd.it/x.jpg"),
    submission(10, ""),
    submission(11, "ftp://a.example/"),
    submission(12, "http://["),
    submission(13, "http://a.example/1", 50),
    submission(14, "http://a.example/6", None),
]


def test_survivors_and_counters_are_those_worked_out_by_hand(tmp_path: Path) -> None:
    (tmp_path / "RS").write_text("".join(LINKS))
    found = collect_links([tmp_path / "RS"], tmp_path / "links.txt", workers=Workers(1))
    assert (tmp_path / "links.txt").read_text().split() == [
        "http://a.example/1",
        "https://a.example/2",
        "http://a.example/5",
        "https://notwikipedia.org/",
    ]
    assert found == {
        "submissions": 15,
        "removed": {
            "karma below 3": 2,
            "not before 2017-12-01": 1,
            "wikipedia.org": 2,
            "not a link outward": 5,
            "seen before": 1,
        },
        "links": 4,
    }
    assert not (tmp_path / "links.txt.partial").exists()


def test_what_is_wrong_is_said_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "RS").write_text(LINKS[0] + '{"id": "1", "body": "a comment"}\n')
    with pytest.raises(Fault, match=r"RS:2\n    this is no submission"):
        collect_links([tmp_path / "RS"], tmp_path / "links.txt")
    with pytest.raises(Fault, match="--before May 2017: it is written as 2017-12-01"):
        collect_links([tmp_path / "RS"], tmp_path / "links.txt", LinkRules(before="May 2017"))
