"""Wikitext to plain text: links by what they show, without templates, tables, references, images and categories."""

from __future__ import annotations

import re
from typing import Any

# pages that a link only embeds or files under, in English, German and Chinese
EMBEDDED = ("file", "image", "category", "datei", "bild", "kategorie", "文件", "檔案", "图像", "圖像", "分类", "分類")
HIDDEN = ("table", "ref", "references", "gallery", "timeline", "imagemap", "math", "syntaxhighlight", "source")
_VARIANT = re.compile(r"-\{([^{}]*)\}-")
_OTHER_LANGUAGE = re.compile(r"\[\[[a-z]{2,3}(?:-[a-z]+)*:[^\[\]]+\]\]\n?")
_MAGIC = re.compile(r"__[A-Z]{3,}__")


def plain_text(wikitext: str, parser: Any, simplified: bool = False) -> str:
    """`parser` is the module mwparserfromhell."""
    text = _MAGIC.sub(
        "", _OTHER_LANGUAGE.sub("", _VARIANT.sub(lambda found: _variant(found.group(1), simplified), wikitext))
    )
    code = parser.parse(text, skip_style_tags=True)
    for link in code.filter_wikilinks(recursive=False):
        if str(link.title).partition(":")[0].strip().lower() in EMBEDDED and ":" in str(link.title):
            code.remove(link)
    for tag in code.filter_tags(recursive=False, matches=lambda one: str(one.tag).lower() in HIDDEN):
        code.remove(tag)
    lines = [line.strip() for line in code.strip_code(normalize=True, collapse=True).split("\n")]
    bare = [re.sub(r"'{2,5}", "", line) for line in lines]  # bold and italics
    return re.sub(r"\n{3,}", "\n\n", "\n".join(bare)).strip()


def _variant(inner: str, simplified: bool) -> str:
    """-{zh-hans:计算机; zh-hant:電腦}- is written differently for different readers."""
    if ":" not in inner:
        return inner.split("|")[-1]
    variants = dict(part.split(":", 1) for part in inner.split("|")[-1].split(";") if ":" in part)
    named = {name.strip(): text.strip() for name, text in variants.items()}
    order = ("zh-hans", "zh-cn", "zh-hant", "zh-tw") if simplified else ("zh-hant", "zh-tw", "zh-hans", "zh-cn")
    return next((named[name] for name in order if name in named), next(iter(named.values()), ""))
