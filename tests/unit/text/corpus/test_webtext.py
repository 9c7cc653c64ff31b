"""WebText in small: links, pages, copies, cleaning. Exact survivors and exact counters at every stage."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from foreword.basics.shards import Workers
from foreword.text.corpus.build import build_corpus
from foreword.text.corpus.plan import read_plan
from foreword.text.links import collect_links

PLACES = ["river", "forest", "harbour", "market", "station", "castle", "garden", "bridge"]


def page(place: str, more: str = "") -> str:
    return f"""<html><head><script>run()</script></head><body><nav><a href="/">Home</a></nav><article><h1>The {place}</h1>
<p>Everybody in the town knew the old {place}, and everybody had a story to tell about it when the evenings were long.</p>
<p>Nobody could say who had come to the {place} first, or why the people who lived there never spoke of the war.{more}</p>
</article></body></html>"""


def record(address: str, html: str, status: str = "200 OK") -> bytes:
    body = f"HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\n\r\n{html}".encode()
    head = f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {address}\r\nWARC-Date: 2017-05-01T00:00:00Z\r\nContent-Length: {len(body)}\r\n\r\n"
    return gzip.compress(head.encode() + body + b"\r\n\r\n")


def test_from_links_to_documents(tmp_path: Path) -> None:
    pytest.importorskip("trafilatura")
    scores = [3, 4, 2, 9, 3, 5, 7, 3]  # the forest, the harbour ... : the third has too little karma
    rows = [
        {
            "id": str(number),
            "title": "t",
            "url": f"http://{place}.example/",
            "score": score,
            "created_utc": 1_400_000_000,
        }
        for number, (place, score) in enumerate(zip(PLACES, scores))
    ]
    rows += [
        {
            "id": "w",
            "title": "t",
            "url": "https://en.wikipedia.org/wiki/Mill",
            "score": 99,
            "created_utc": 1_400_000_000,
        }
    ]
    rows += [{"id": "l", "title": "t", "url": "http://late.example/", "score": 99, "created_utc": 1_600_000_000}]
    (tmp_path / "RS").write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = collect_links([tmp_path / "RS"], tmp_path / "links.txt", workers=Workers(1))
    assert found == {
        "submissions": 10,
        "removed": {"karma below 3": 1, "wikipedia.org": 1, "not before 2017-12-01": 1},
        "links": 7,
    }

    pages = {place: page(place) for place in PLACES}
    pages["market"] = pages["river"]  # another address, the same page
    pages["castle"] = page("castle", " lorem ipsum")
    archive = b"".join(record(f"http://{place}.example/", html) for place, html in pages.items() if place != "station")
    archive += record("http://station.example/", pages["station"], "404 Not Found")
    archive += record("http://not-linked.example/", page("tower"))
    (tmp_path / "crawl.warc.gz").write_bytes(archive)
    (tmp_path / "web.toml").write_text(
        f'[[sources]]\nkind = "warc"\npath = "{tmp_path}/crawl.warc.gz"\naddresses = "{tmp_path}/links.txt"\n'
        '[[stages]]\nkind = "dedup"\n[[stages]]\nkind = "clean"\nrules = ["lorem_ipsum"]\n'
    )
    content = build_corpus(read_plan(tmp_path / "web.toml"), tmp_path / "out", Workers(1))
    read, (dedup, clean) = content["sources"][0], content["stages"]
    assert read["removed"] == {"address not listed": 2, "status not 200": 1}  # the harbour and the tower; the station
    assert (read["read"][0], read["kept"][0]) == (9, 6)
    assert (dedup["removed"], dedup["kept"][0]) == ({"exact duplicate": 1}, 5)
    assert (clean["removed"], clean["kept"][0]) == ({"lorem_ipsum": 1}, 4)
    kept = [json.loads(line) for line in (tmp_path / "out/00000.jsonl").open()]
    assert [row["address"] for row in kept] == [
        f"http://{place}.example/" for place in ("river", "forest", "garden", "bridge")
    ]
    assert content["hosts"] == {f"{place}.example": 1 for place in ("bridge", "forest", "garden", "river")}
    assert content["years"] == {"2017": 4}
