"""Text <-> ids: one class for every kind, over the `tokenizers` library, saved in Hugging Face's layout."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer as Backend

from foreword.basics.files import JsonObject, read_json, read_json_object, write_json, write_text
from foreword.basics.messages import Fault, did_you_mean
from foreword.kernels import tokenize
from foreword.tokens import backends, quick
from foreword.tokens.page import Page, utf8
from foreword.tokens.vocabulary import Vocabulary

# our name -> Hugging Face's field
FIELDS = {
    "[end]": "eos_token",
    "[begin]": "bos_token",
    "[unknown]": "unk_token",
    "[pad]": "pad_token",
    "[mask]": "mask_token",
    "[cls]": "cls_token",
    "[separator]": "sep_token",
}
# what each is called in published vocabularies, for folders that do not say
CUSTOMARY = {
    "[end]": ("<|endoftext|>", "</s>", "<eos>", "[SEP]"),
    "[begin]": ("<|endoftext|>", "<s>"),
    "[unknown]": ("<unk>", "[UNK]"),
    "[pad]": ("<pad>", "[PAD]"),
    "[mask]": ("<mask>", "[MASK]"),
    "[cls]": ("[CLS]", "<cls>"),
    "[separator]": ("[SEP]", "<sep>"),
}
# transformers builds these classes' machinery itself; any other is opened as tokenizer.json says
CLASSES = {"byte_bpe": "GPT2Tokenizer", "char_bpe": "OpenAIGPTTokenizer", "wordpiece": "BertTokenizer"}

_WRITTEN = re.compile(r"\n|\S+")  # words and newlines, as the word tokenizer has them
UNEVEN = re.compile(r"[^\S\n]{2,}|[^\S\n ]")  # white space between words that is more than a space or a newline


class Tokenizer:
    """A kind, its machinery, and the names of its special tokens."""

    def __init__(
        self,
        backend: Backend,
        kind: str,
        lossless: bool,
        specials: dict[str, str],
        characters: dict[str, str] | None = None,
    ):
        self.backend, self.kind, self.lossless, self.specials = backend, kind, lossless, specials
        self.characters = characters or {}  # written as others before anything else is done: 後 as 后
        backend.no_padding()
        backend.no_truncation()
        # text that looks like a special ("<|endoftext|>" in a web page) stays text
        backend.encode_special_tokens = True
        for name, token in specials.items():
            if backend.token_to_id(token) is None:
                raise Fault(f"the special {name} is said to be {token!r}, which is not in the vocabulary.")

    def encode(self, text: str, specials: bool = False) -> list[int]:
        """Ids without any special; with `specials`, those written out in the text ("[MASK]") become theirs."""
        if specials and self.specials:
            named = "|".join(re.escape(token) for token in sorted(set(self.specials.values()), key=len, reverse=True))
            ids: list[int] = []
            for part in re.split(f"({named})", text):
                if part in self.specials.values():
                    ids.append(self._vocabulary[part])
                elif part:
                    ids.extend(self.encode(part))
            return ids
        return self.encode_many([text])[0].tolist()

    def encode_many(self, texts: list[str]) -> list[np.ndarray]:
        """The ids of each text, int64, in one call to the library."""
        texts = [self.converted(text) for text in texts] if self.characters else texts
        if self._ids_are_bytes:
            return [np.frombuffer(utf8(text), np.uint8).astype(np.int64) for text in texts]
        if sum(map(len, texts)) < quick.WORTH:
            return [np.asarray(encoding.ids, np.int64) for encoding in self._batch(texts, offsets=False)]
        ids, numbers = self.encode_page(Page.of(texts))
        return np.split(ids.astype(np.int64), np.cumsum(numbers)[:-1])

    def encode_page(self, page: Page) -> quick.Ids:
        """The ids of all texts of the page behind one another, uint32, and how many each text has."""
        if self.characters:
            page = Page.of([self.converted(text) for text in page.texts])
        if self._ids_are_bytes:
            return page.letters().astype(np.uint32), page.sizes
        if page.size >= quick.WORTH and self._quick is not None:
            return self._quick(page)
        return quick.flat(encoding.ids for encoding in self._batch(page.texts, offsets=False))

    @property
    def is_quick(self) -> bool:
        """Whether it encodes tens of megabytes a second."""
        return self._ids_are_bytes or (self._quick is not None and tokenize.library() is not None)

    def encode_with_offsets(self, texts: list[str]) -> list[tuple[np.ndarray, np.ndarray]]:
        """Ids, and for each the characters of the text it stands for: [tokens, 2], first and one past the last."""
        return [
            (np.asarray(encoding.ids, np.int64), np.asarray(encoding.offsets, np.int64).reshape(-1, 2))
            for encoding in self._batch([self.converted(text) for text in texts], offsets=True)
        ]

    def converted(self, text: str) -> str:
        """The text in the characters that it reads: as many as before, so that places stay what they are."""
        return text.translate(self._characters) if self.characters else text

    def decode(self, ids: Sequence[int] | np.ndarray, keep_specials: bool = False) -> str:
        """The text; [unknown] stays visible, the other specials only if they are to be kept."""
        hidden = frozenset() if keep_specials else self._hidden
        return self.backend.decode([int(id) for id in ids if int(id) not in hidden], skip_special_tokens=False)

    def pieces(self, ids: Sequence[int] | np.ndarray) -> list[str]:
        """The token string behind each id."""
        found = []
        for id in ids:
            piece = self.backend.id_to_token(int(id))
            if piece is None:
                raise Fault(f"there is no token {id}: the tokenizer {self.name} has {len(self)}.")
            found.append(piece)
        return found

    def keeps(self, text: str, ids: Sequence[int] | np.ndarray) -> bool:
        """Whether its ids hold all of a text. Of words: each is known, or is "<unk>" in the text already, one space apart."""
        return self.lossless or self.unknown_words(text, ids) == []

    def unknown_words(self, text: str, ids: Sequence[int] | np.ndarray) -> list[str] | None:
        """What a text has in the places of "unknown", if that is all that its ids leave open; None: they lose more."""
        if self.lossless or self.kind != "word":
            return [] if self.lossless else None
        if UNEVEN.search(text.strip()) or (self.backend.normalizer is not None and text != text.lower()):
            return None
        written, known = _WRITTEN.findall(text), np.asarray(ids) != self.special("[unknown]")
        if len(written) != len(known):
            return None
        return [word for word, met in zip(written, known) if not met and word != self.specials["[unknown]"]]

    def special(self, name: str) -> int:
        if name not in self.specials:
            raise Fault(
                f"the tokenizer {self.name} has no {name}.{did_you_mean(name, self.specials)}",
                f"Those it has: {', '.join(self.specials) or 'none'}.",
            )
        return self._vocabulary[self.specials[name]]

    def has(self, name: str) -> bool:
        return name in self.specials

    def __len__(self) -> int:
        return self._size

    def vocabulary(self) -> Vocabulary:
        """Size, [end], the ids that are neither text nor ever predicted, and the piece of each."""
        named = {name: self.special(name) for name in self.specials}
        end = named.get("[end]", -1)
        spoken = {id for name, id in named.items() if name in ("[end]", "[unknown]") or name.startswith("[span")}
        silent = {*named.values(), *self._special_ids} - spoken
        return Vocabulary(len(self), end, tuple(sorted(silent)), self._pieces, unknown=named.get("[unknown]", -1))

    @cached_property
    def fingerprint(self) -> str:
        parts = [json.loads(self.backend.to_str()), self.specials, *([self.characters] if self.characters else [])]
        canonical = json.dumps(parts, sort_keys=True, ensure_ascii=False)
        return hashlib.blake2b(canonical.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    @property
    def name(self) -> str:
        return f"{self.kind.replace('_', '-')}-{len(self)}"

    def token_bytes(self) -> np.ndarray | None:
        """How many bytes of UTF-8 each id stands for (0 for specials); None when the tokenizer is not lossless."""
        return self._token_bytes if self.lossless else None

    def save(self, folder: Path) -> None:
        """tokenizer.json and tokenizer_config.json, and the files older readers look for."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "tokenizer.json", self.backend.to_str(pretty=True))
        write_json(folder / "tokenizer_config.json", self._config())
        model = json.loads(self.backend.to_str())["model"]
        if model["type"] == "BPE":
            write_json(folder / "vocab.json", model["vocab"])
            lines = [" ".join(merge) if isinstance(merge, list) else merge for merge in model["merges"]]
            write_text(folder / "merges.txt", "\n".join(["#version: 0.2", *lines]) + "\n")
        elif model["type"] == "WordPiece":
            ordered = sorted(model["vocab"], key=model["vocab"].__getitem__)
            write_text(folder / "vocab.txt", "\n".join(ordered) + "\n")

    @classmethod
    def load(cls, folder: Path) -> Tokenizer:
        """Ours, or any Hugging Face folder: tokenizer.json, or vocab.json + merges.txt, or BERT's vocab.txt."""
        folder = Path(folder)
        config = {**_json(folder / "special_tokens_map.json"), **_json(folder / "tokenizer_config.json")}
        backend = _backend(folder, config)
        ours = config.get("foreword")
        if isinstance(ours, dict) and {"kind", "lossless", "specials"} <= ours.keys():
            return cls(backend, ours["kind"], ours["lossless"], ours["specials"], ours.get("characters"))
        kind, lossless = _kind(json.loads(backend.to_str()))
        return cls(backend, kind, lossless, _specials(backend, config))

    def _config(self) -> JsonObject:
        known = "RobertaTokenizer" if self.separators == 2 else CLASSES.get(self.kind, "PreTrainedTokenizerFast")
        config: JsonObject = {"tokenizer_class": known}
        for name, field in FIELDS.items():
            if name in self.specials:
                config[field] = self.specials[name]
        if self.kind == "wordpiece" and self.specials.get("[end]") == self.specials.get("[separator]"):
            config.pop("eos_token", None)  # BERT's [SEP] is its separator; to transformers it has no end
        if self.kind == "byte_bpe" and "unk_token" not in config and self.has("[end]"):
            config["unk_token"] = self.specials["[end]"]  # GPT-2's own default; it can never be met
        if self.kind == "wordpiece":
            config["do_lower_case"] = bool(json.loads(self.backend.normalizer.__getstate__())["lowercase"])
        config["clean_up_tokenization_spaces"] = False
        config["foreword"] = {"kind": self.kind, "lossless": self.lossless, "specials": self.specials}
        if self.characters:
            config["foreword"]["characters"] = self.characters
        return config

    def _batch(self, texts: list[str], offsets: bool) -> list[Any]:
        call = self.backend.encode_batch if offsets else self.backend.encode_batch_fast
        try:
            return call(texts, add_special_tokens=False)
        except TypeError:
            for text in texts:
                utf8(text)  # says which character it was
            raise

    @cached_property
    def _characters(self) -> dict[int, str]:
        return {ord(mine): theirs for mine, theirs in self.characters.items()}

    @cached_property
    def _quick(self) -> quick.Encode | None:
        return quick.quick_encoder(self.backend)

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        return self.backend.get_vocab(with_added_tokens=True)

    @cached_property
    def _pieces(self) -> tuple[str, ...]:
        pieces = [""] * self._size  # an id without a piece has none
        for piece, id in self._vocabulary.items():
            pieces[id] = piece
        return tuple(pieces)

    @cached_property
    def separators(self) -> int:
        """How many separators stand between two texts: one, or two as RoBERTa has it."""
        post = json.loads(self.backend.to_str()).get("post_processor") or {}
        return 2 if post.get("type") == "RobertaProcessing" else 1

    @cached_property
    def _size(self) -> int:
        return max(self._vocabulary.values(), default=-1) + 1

    @cached_property
    def _special_ids(self) -> frozenset[int]:
        added = self.backend.get_added_tokens_decoder()
        return frozenset(id for id, token in added.items() if token.special)

    @cached_property
    def _hidden(self) -> frozenset[int]:
        named = {self.special(name) for name in self.specials if name != "[unknown]"}
        return (self._special_ids | named) - {self.special(name) for name in ("[unknown]",) if name in self.specials}

    @cached_property
    def _ids_are_bytes(self) -> bool:
        """Whether the id of a byte is the byte itself, so that no library is needed."""
        return self.kind == "byte" and [self.backend.token_to_id(letter) for letter in backends.byte_letters()] == list(
            range(256)
        )

    @cached_property
    def _token_bytes(self) -> np.ndarray:
        added = self.backend.get_added_tokens_decoder()
        sizes = np.zeros(len(self), np.int64)
        for piece, id in self._vocabulary.items():
            if id in self._special_ids:
                continue
            if id in added or (self.kind == "unicode" and not _BYTE.fullmatch(piece)):
                sizes[id] = len(piece.encode("utf-8"))
            else:  # a letter for each byte, or one byte written out
                sizes[id] = 1 if self.kind == "unicode" else len(piece)
        return sizes


_BYTE = re.compile("<0x[0-9A-F]{2}>")
_SPAN = re.compile(r"<extra_id_(\d+)>")


def _json(path: Path) -> JsonObject:
    return read_json_object(path) if path.is_file() else {}


def _backend(folder: Path, config: JsonObject) -> Backend:
    if (folder / "tokenizer.json").is_file():
        content = json.dumps(read_json(folder / "tokenizer.json"))
        try:
            return Backend.from_str(content)
        except Exception as error:  # noqa: BLE001  the library has no exception of its own: it raises `Exception`
            raise Fault(f"{folder / 'tokenizer.json'} is not a tokenizer: {error}.") from error
    if (folder / "vocab.json").is_file() and (folder / "merges.txt").is_file():
        vocabulary = read_json_object(folder / "vocab.json")
        if not all(type(id) is int for id in vocabulary.values()):
            raise Fault(f"{folder / 'vocab.json'} is not a vocabulary: each piece has a whole number.")
        merges = read_merges(folder / "merges.txt")
        if any(token.endswith(backends.WORD_END) for token in vocabulary):
            return backends.lowercase_bpe(vocabulary, merges)
        backend = backends.byte_level(vocabulary, merges)
        backends.add_specials(backend, [token for token in (backends.END,) if token in vocabulary])
        return backend
    if (folder / "vocab.txt").is_file():
        vocabulary = read_vocabulary(folder / "vocab.txt")
        return backends.wordpiece(vocabulary, lowercase=bool(config.get("do_lower_case", "the" in vocabulary)))
    raise Fault(
        f"{folder} holds no tokenizer." if folder.is_dir() else f"{folder} is not there.",
        "A tokenizer is tokenizer.json, or vocab.json and merges.txt, or vocab.txt.",
    )


def read_merges(path: Path) -> list[tuple[str, str]]:
    """merges.txt or OpenAI's .bpe: one pair per line under a version line."""
    lines = path.read_text(encoding="utf-8").split("\n")
    pairs = [tuple(line.split(" ")) for line in lines if line.strip() and not line.startswith("#version")]
    if broken := [pair for pair in pairs if len(pair) != 2]:
        raise Fault(f"{path} has a line that is not a pair of pieces: {' '.join(broken[0])!r}.")
    return [(pair[0], pair[1]) for pair in pairs]


def read_vocabulary(path: Path) -> dict[str, int]:
    """vocab.txt: the id of a piece is its line."""
    lines = path.read_text(encoding="utf-8").split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    return {line.rstrip("\r"): number for number, line in enumerate(lines)}


def _kind(content: JsonObject) -> tuple[str, bool]:
    """Which of our kinds a tokenizer.json is, and whether it gives back every text as it was."""
    model, splitter, normalizer = content["model"], content.get("pre_tokenizer") or {}, content.get("normalizer")
    steps = splitter.get("pretokenizers", [splitter])
    by_bytes = [step for step in steps if step.get("type") == "ByteLevel"]
    type = model.get("type", "BPE")
    if type == "BPE" and by_bytes:
        # other steps may only cut; a normalizer or a space put in front changes the text
        plain = normalizer is None and not any(step.get("add_prefix_space") for step in by_bytes)
        plain = plain and all(
            step.get("type") in ("ByteLevel", "Digits")
            or (step.get("type") == "Split" and step.get("behavior") == "Isolated")
            for step in steps
        )
        return "byte_bpe" if model["merges"] else "byte", plain
    if type == "BPE" and model.get("end_of_word_suffix"):
        return "char_bpe", False
    return {"WordPiece": "wordpiece", "WordLevel": "word", "Unigram": "unigram"}.get(type, "bpe"), False


def _specials(backend: Backend, config: JsonObject) -> dict[str, str]:
    """As the folder's configuration says; what it leaves out, by the customary names the vocabulary holds."""
    added = {token.content for token in backend.get_added_tokens_decoder().values() if token.special}
    specials: dict[str, str] = {}
    for name, field in FIELDS.items():
        said = config.get(field)
        said = said.get("content") if isinstance(said, dict) else said
        if said is not None and backend.token_to_id(said) is not None:
            specials[name] = said
    for name, customary in CUSTOMARY.items():
        here = [
            token
            for token in customary
            if backend.token_to_id(token) is not None and (token in added or name == "[unknown]")
        ]
        if name not in specials and here:
            specials[name] = here[0]
    if "[end]" not in specials and "[separator]" in specials:
        specials["[end]"] = specials["[separator]"]
    if specials.get("[unknown]") == specials.get("[end]", ""):
        del specials["[unknown]"]  # GPT-2 calls its end "unknown" too, but no text is unknown to it
    for token in sorted(added):
        if match := _SPAN.fullmatch(token):
            specials[f"[span{match.group(1)}]"] = token
    return specials
