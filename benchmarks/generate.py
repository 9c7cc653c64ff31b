"""`make bench ARGS=generate`: tokens a second of greedy generation, beside others' and what the memory allows."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import torch

from benchmarks import limits
from benchmarks.peers import there
from benchmarks.race import race
from benchmarks.shapes import Shape, counted, model_of, recipe_for, shape_called
from foreword.basics.progress import say
from foreword.exchange import hugging_face
from foreword.generate.batch import generate as continued
from foreword.generate.sample import Sampling
from foreword.networks.base import Model
from foreword.networks.language_model import LanguageModel
from foreword.parts.frozen import PRECISIONS, freeze
from foreword.tokens import backends
from foreword.tokens.kinds import OPEN_ENDED
from foreword.tokens.tokenizer import Tokenizer
from foreword.tokens.vocabulary import Vocabulary

PROMPT, NEW = 32, 128
CONTEXT = 1024
OURS = "ours"  # what the names of our own candidates begin with
Ids = Sequence[list[int]]
Write = Callable[[Ids], list[list[int]]]  # prompts -> what follows each, NEW tokens


def reader(model: Model, vocabulary: Vocabulary, precision: str) -> LanguageModel:
    """Our model, ready to be asked for next tokens."""
    return freeze(model, precision).language_model(vocabulary)


def measure(name: str = "124m", batches: Sequence[int] = (1, 8, 32), rounds: int = 2) -> dict[str, Any]:
    """Race all who can generate with the same random weights. Results by batch size."""
    shape = shape_called(name)
    say(
        f"bench generate, {shape.recipe} {shape.layers} x {shape.width}, {PROMPT} + {NEW} tokens, batches {list(batches)}"
    )
    model = model_of(shape, CONTEXT).eval()
    weights = counted(model)[0]
    with tempfile.TemporaryDirectory() as folder:
        writers = writers_of(shape, model, Path(folder))
        before = measured_limits(weights)
        raced = {
            batch: race(
                {who: partial(write, prompts(shape, batch)) for who, write in writers.items()}, turns(rounds, batch)
            )
            for batch in batches
        }
        bandwidth, small, product = map(max, before, measured_limits(weights))
    found = []
    for batch, times in raced.items():
        for who, one in times.items():
            int8 = who.endswith("int8")
            limit, bound = fastest(shape, weights, batch, int8, small if int8 else bandwidth, product)
            best, middle = batch * NEW / one.best, batch * NEW / one.median
            found.append(
                {
                    "batch": batch,
                    "who": who,
                    "best": best,
                    "median": middle,
                    "limit": limit,
                    "bound": bound,
                    "share": best / limit,
                    "first_seconds": one.first,
                }
            )
    return {
        "shape": name,
        "threads": torch.get_num_threads(),
        "prompt": PROMPT,
        "new": NEW,
        "weights": weights,
        "bandwidth": bandwidth,
        "bandwidth_int8": small,
        "gemm_flops": product,
        "figures": found,
    }


def measured_limits(weights: int) -> tuple[float, float, float]:
    """Bytes a second of reading the weights in float32 and in int8, which a large cache may hold; and of the matrix product."""
    return limits.read_bandwidth(4 * weights), limits.read_bandwidth(weights), limits.gemm_flops()


def turns(rounds: int, batch: int) -> int:
    """Fewer for large batches: one call is long enough to be measured, and all of them must end in some minutes."""
    return max(1, rounds - (batch >= 8) - (batch >= 32))


def fastest(shape: Shape, weights: int, batch: int, int8: bool, bandwidth: float, product: float) -> tuple[float, str]:
    """Tokens a second if each step only read every weight, and the keys and values of each row, once; and what bounds it.

    A float32 step cannot be faster than its matrix products either: with many rows those take longer than reading.
    """
    kept = 2 * shape.layers * shape.width * 4 * (PROMPT + NEW / 2)  # bytes a row remembers, half-way
    reading = (weights * (1 if int8 else 4) + batch * kept) / bandwidth
    multiplying = 0.0 if int8 else 2 * weights * batch / product
    return batch / max(reading, multiplying), "arithmetic" if multiplying > reading else "memory"


def prompts(shape: Shape, batch: int) -> Ids:
    """Random, of one length; the last token, the end of a document, is not among them."""
    draw = torch.Generator().manual_seed(batch)
    return torch.randint(shape.vocabulary - 1, (batch, PROMPT), generator=draw).tolist()


def tokenizer_of(size: int) -> Tokenizer:
    """A byte-level BPE of exactly this size whose merges were never learned: pairs and triples of printable letters."""
    plain = [chr(code) for code in range(ord("!"), ord("~") + 1)]
    pairs = [(a, b) for a in plain for b in plain]
    merges = list(islice(chain(pairs, ((a + b, c) for a, b in pairs for c in plain)), size - 257))
    pieces = [*backends.byte_letters(), *(a + b for a, b in merges), backends.END]
    backend = backends.byte_level({piece: id for id, piece in enumerate(pieces)}, merges)
    backends.add_specials(backend, [backends.END])
    return Tokenizer(backend, "byte_bpe", True, dict(OPEN_ENDED))


def writers_of(shape: Shape, model: Model, folder: Path) -> dict[str, Write]:
    """All who can generate here. Each gives exactly NEW tokens, whether the model would end the text or not."""
    tokenizer = tokenizer_of(shape.vocabulary)
    found = {f"{OURS}, {precision}": ours(model, tokenizer, precision) for precision in PRECISIONS}
    if there("transformers"):
        hugging_face.write(folder / "model", recipe_for(shape, CONTEXT), model, tokenizer)
        found["transformers, float32"] = transformers_writer(folder / "model")
        if there("ctranslate2"):
            for precision in ("float32", "int8"):
                found[f"CTranslate2, {precision}"] = ctranslate2_writer(folder, tokenizer, precision)
    return found


def ours(model: Model, tokenizer: Tokenizer, precision: str) -> Write:
    asked = reader(model, tokenizer.vocabulary(), precision)
    how = Sampling(max_tokens=NEW, min_tokens=NEW, temperature=0.0)
    return lambda given: [one.ids for one in continued(asked, tokenizer, given, how)]


def transformers_writer(folder: Path) -> Write:
    import transformers

    model = transformers.GPT2LMHeadModel.from_pretrained(folder).eval()
    model.generation_config.eos_token_id = None  # nothing ends a text; `max_new_tokens` leaves the prompt out

    def write(given: Ids) -> list[list[int]]:
        ids = torch.tensor(given)
        with torch.inference_mode():
            out = model.generate(
                ids, attention_mask=torch.ones_like(ids), max_new_tokens=NEW, do_sample=False, use_cache=True
            )
        return out[:, ids.size(1) :].tolist()

    return write


def ctranslate2_writer(folder: Path, tokenizer: Tokenizer, precision: str) -> Write:
    import ctranslate2

    converted = folder / f"ctranslate2-{precision}"
    ctranslate2.converters.TransformersConverter(str(folder / "model")).convert(
        str(converted), quantization=None if precision == "float32" else precision
    )
    generator = ctranslate2.Generator(
        str(converted), device="cpu", compute_type=precision, inter_threads=1, intra_threads=torch.get_num_threads()
    )

    def write(given: Ids) -> list[list[int]]:
        # without the prompt in the result it is read at once, and both lengths count new tokens alone
        done = generator.generate_batch(
            [tokenizer.pieces(ids) for ids in given],
            max_length=NEW,
            min_length=NEW,
            sampling_topk=1,
            include_prompt_in_result=False,
        )
        return [one.sequences_ids[0] for one in done]

    return write


def lines(found: dict[str, Any]) -> Iterator[str]:
    yield (
        f"{found['shape']}: {found['weights']:,} weights read for a token, greedy, {found['prompt']} + {found['new']} tokens; "
        f"memory {found['bandwidth'] / 1e9:.1f} GB/s, {found['bandwidth_int8'] / 1e9:.1f} for as few bytes as int8 has; "
        f"matrix product {found['gemm_flops'] / 1e9:.0f} GFLOPS "
        f"with {found['threads']} threads"
    )
    for batch in dict.fromkeys(figures["batch"] for figures in found["figures"]):
        here = [figures for figures in found["figures"] if figures["batch"] == batch]
        for figures in here:
            yield (
                f"  batch {batch:<3} {figures['who']:24} {figures['best']:>8,.1f} tokens/s best "
                f"{figures['median']:>8,.1f} median   "
                f"{figures['share']:.2f} of the limit of {figures['limit']:,.0f} ({figures['bound']})"
            )
        for precision in ("float32", "int8"):
            mine = [one["best"] for one in here if one["who"] == f"{OURS}, {precision}"]
            for other in here:
                if mine and other["who"].endswith(precision) and not other["who"].startswith(OURS):
                    yield f"  batch {batch:<3} ours / {other['who']:30} {mine[0] / other['best']:.2f}x best"
    yield "limit: every weight, key and value read once a step; or the float32 matrix products, where they take longer"
