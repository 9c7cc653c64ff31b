"""Threads are trees and sessions are their paths; what is broken in them is counted or said."""

import json

import pytest

from foreword.basics.messages import Fault
from foreword.text import reddit
from foreword.text.reddit import Post, Threads


def comment(name, parent, body="text", time=0, **more):
    return {
        "id": name,
        "parent_id": parent,
        "body": f"{name} {body}" if body not in ("", *reddit.GONE) else body,
        "created_utc": time,
        "subreddit": "talk",
        **more,
    }


def sessions(rows, tmp_path, **settings):
    path = tmp_path / "RC"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    threads = reddit.read([path], settings.pop("leave_out", ()))
    found = [tuple(turn.split()[0] for turn in session.dialogue.turns) for session in threads.sessions(**settings)]
    return found, {name: count for name, count in threads.counts.items() if count}


TREE = [
    comment("d", "t1_b", time=5),
    comment("a", "t3_s", time=1),
    comment("c", "t1_a", time=4),
    comment("b", "t1_a", time=2),
    comment("e", "t1_b", time=3),
]  # a -> (b -> (e, d), c)


def test_a_tree_of_three_leaves_gives_three_paths_each_in_the_order_of_time(tmp_path):
    found, counts = sessions(TREE, tmp_path)
    assert found == [("a", "b", "e"), ("a", "b", "d"), ("a", "c")]
    assert counts == {"comments read": 5, "paths": 3}


def test_a_submission_is_the_first_turn(tmp_path):
    found, counts = sessions(
        [
            {"id": "s", "title": "s title", "selftext": "[removed]", "subreddit": "talk", "created_utc": "0"},
            comment("a", "t3_s", time=1),
        ],
        tmp_path,
    )
    assert found == [("s", "a")]
    assert counts["submissions read"] == 1


@pytest.mark.parametrize(
    ("gone", "reason"), [("[deleted]", "deleted"), ("[removed]", "deleted"), ("", "empty"), (" \n", "empty")]
)
def test_a_deleted_or_empty_comment_cuts_its_tree(tmp_path, gone, reason):
    rows = [
        comment("a", "t3_s"),
        comment("b", "t1_a", gone.strip(), 1),
        comment("c", "t1_b", time=2),
        comment("d", "t1_c", time=3),
        comment("e", "t1_a", time=4),
    ]
    found, counts = sessions(rows, tmp_path)
    assert sorted(found) == [("a", "e"), ("c", "d")]
    assert counts[reason] == 1
    assert counts["comments whose parent was deleted or empty"] == 1


def test_an_orphan_begins_a_tree_of_its_own_and_is_counted(tmp_path):
    found, counts = sessions([comment("a", "t1_nowhere"), comment("b", "t1_a", time=1)], tmp_path)
    assert found == [("a", "b")]
    assert counts["comments whose parent is in no file"] == 1


def test_a_comment_that_names_no_parent_is_counted(tmp_path):
    found, counts = sessions([{"id": "a", "body": "a"}, comment("b", "t1_a", time=1)], tmp_path)
    assert found == [("a", "b")]
    assert counts["comments that name no parent"] == 1


def test_comments_in_a_circle_are_left_out_and_counted(tmp_path):
    rows = [comment("x", "t1_y"), comment("y", "t1_x"), comment("under", "t1_x"), comment("self", "t1_self"), *TREE]
    found, counts = sessions(rows, tmp_path)
    assert found == [("a", "b", "e"), ("a", "b", "d"), ("a", "c")]
    assert counts["comments in a circle (each answers another)"] == 4


def test_a_lone_comment_is_no_session_and_the_same_id_is_read_once(tmp_path):
    found, counts = sessions([comment("a", "t3_s"), comment("a", "t3_s"), comment("z", "t3_s")], tmp_path)
    assert found == []
    assert counts["read twice (the same id)"] == 1
    assert counts["posts nobody answered and that answer nobody"] == 2


def test_of_a_long_path_the_last_turns_are_kept(tmp_path):
    chain = [comment("c0", "t3_s")] + [comment(f"c{i}", f"t1_c{i - 1}", time=i) for i in range(1, 3000)]
    found, counts = sessions(chain, tmp_path, most_turns=3)
    assert found == [("c2997", "c2998", "c2999")]
    assert counts["paths cut to their last turns"] == 1


def test_unwanted_communities_are_not_read(tmp_path):
    rows = [*TREE, comment("q", "t1_a", time=9) | {"subreddit": "Bad"}]
    found, counts = sessions(rows, tmp_path, leave_out=["r/bad"])
    assert len(found) == 3
    assert counts["comments of communities left out"] == 1


def test_texts_are_on_one_line_with_their_characters_as_themselves():
    assert reddit.clean(" a &gt; b\n\n&amp; c ") == "a > b & c"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"id": "a"}', ["RC:2", "neither a comment"]),
        ("[]", ["RC:2", "neither a comment"]),
        ("{", ["RC:2", "not JSON"]),
        ('{"id": "a", "body": "x", "created_utc": "noon"}', ["RC:2", "not a time"]),
    ],
)
def test_a_broken_row_is_a_fault_with_its_line(tmp_path, line, words):
    (tmp_path / "RC").write_text(json.dumps(comment("a", "t3_s")) + "\n" + line + "\n")
    with pytest.raises(Fault) as caught:
        reddit.read([tmp_path / "RC"])
    for word in words:
        assert word in str(caught.value)


def test_a_truncated_zst_says_how_far_it_was_read(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    text = "".join(json.dumps(comment(f"c{i}", "t3_s", str(i * 7919 % 1000))) + "\n" for i in range(20000)).encode()
    packed = zstandard.ZstdCompressor().compress(text)
    whole = tmp_path / "RC_2019-08.zst"
    whole.write_bytes(packed + packed)  # two frames, as pushshift's files may have
    assert reddit.read([whole]).counts["comments read"] == 40000
    for kept in (len(packed) // 2, len(packed) - 1, len(packed) + 100, 10):
        whole.write_bytes((packed + packed)[:kept])
        with pytest.raises(Fault) as caught:
            reddit.read([whole])
        assert str(whole) in str(caught.value)
        assert "bytes of text" in str(caught.value)
        assert f"{kept:,}" in str(caught.value)


def test_the_published_sample_is_read(data):
    threads = reddit.read([data / "reddit-pushshift" / "RC_sample.jsonl"])
    found = list(threads.sessions())
    assert threads.counts["comments read"] == 1007
    assert [len(session.dialogue.turns) for session in found] == [
        4
    ]  # three comments have their parent inside: one chain


def test_nothing_is_lost_between_posts_and_paths():
    """Brute force on random trees: the paths are the chains of parents of the posts that nobody answered."""
    from foreword.basics.seeds import chance

    for seed in range(20):
        draw = chance(seed)
        parents = {f"t1_{i}": f"t1_{int(draw.integers(i))}" if i else "t3_s" for i in range(12)}
        threads = Threads({name: Post(name, parent, name, int(name[3:]), "") for name, parent in parents.items()})
        found = sorted(session.dialogue.turns for session in threads.sessions(100))
        expected = []
        for leaf in set(parents) - set(parents.values()):
            path = [leaf]
            while parents[path[0]] in parents:
                path.insert(0, parents[path[0]])
            expected += [tuple(path)] if len(path) > 1 else []
        assert found == sorted(expected)
