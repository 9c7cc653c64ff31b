"""Encoder-decoders beside `transformers` (T5 v1.0 and v1.1, Marian) and torch's own stacks, both ways; Adafactor beside its reference."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import foreword
from foreword.exchange import hugging_face
from foreword.networks.base import Inputs
from foreword.networks.encoder_decoder import EncoderDecoderSpec
from foreword.parts.positions import Learned, Sinusoid
from foreword.tokens.vocabulary import Vocabulary
from foreword.training.adafactor import Adafactor

transformers = pytest.importorskip("transformers")
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()


def t5(feed_forward_proj: str, tied: bool):
    config = transformers.T5Config(
        vocab_size=60,
        d_model=32,
        d_kv=12,  # heads x d_kv is not d_model
        d_ff=48,
        num_layers=2,
        num_decoder_layers=3,
        num_heads=2,
        relative_attention_num_buckets=8,
        relative_attention_max_distance=20,
        feed_forward_proj=feed_forward_proj,
        tie_word_embeddings=tied,
        dropout_rate=0.0,
        decoder_start_token_id=0,
    )
    return transformers.T5ForConditionalGeneration(config)


def marian():
    config = transformers.MarianConfig(
        vocab_size=60,
        d_model=32,
        encoder_layers=2,
        decoder_layers=3,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=48,
        decoder_ffn_dim=48,
        activation_function="relu",
        scale_embedding=True,
        max_position_embeddings=40,
        dropout=0.0,
        pad_token_id=59,
        decoder_start_token_id=59,
        eos_token_id=0,
    )
    return transformers.MarianMTModel(config)


CASES = {
    "t5 v1.0": lambda: t5("relu", True),
    "t5 v1.1": lambda: untied(t5("gated-gelu", False)),
    "marian": marian,
}
every_case = pytest.mark.parametrize("make", CASES.values(), ids=CASES.keys())


def untied(model):
    """Published v1.1 models have an output of their own; version 5 of transformers ties it until one is loaded."""
    model.lm_head.weight = nn.Parameter(torch.empty_like(model.shared.weight))
    return model


def redrawn(model):
    torch.manual_seed(0)
    with torch.no_grad():
        for name, weight in [*model.named_parameters(), *model.named_buffers()]:
            if "embed_positions" not in name and weight.is_floating_point():
                weight.copy_(torch.randn_like(weight) * 0.3 + ("norm.weight" in name))
    return model.eval()


def given(start: int):
    torch.manual_seed(1)
    source, target = torch.randint(1, 58, (3, 30)), torch.randint(1, 58, (3, 9))
    real = torch.arange(30) < torch.tensor([30, 11, 4])[:, None]
    return source, real, target, torch.cat([torch.full((3, 1), start), target[:, :-1]], 1)


@every_case
def test_their_folder_gives_their_logits_and_ours_gives_them_back(make, tmp_path):
    theirs = redrawn(make())
    theirs.save_pretrained(tmp_path / "theirs")
    start = theirs.config.decoder_start_token_id
    source, real, target, shifted = given(start)
    with torch.no_grad():
        wanted = theirs(input_ids=source, attention_mask=real.long(), decoder_input_ids=shifted).logits
    loaded = hugging_face.read(tmp_path / "theirs")
    with torch.no_grad():
        last = loaded.model.network(Inputs(shifted, source=source, source_real=real)).last
        found = loaded.model.heads["tokens"].logits(last)
    assert (found - wanted).abs().max() < 1e-4
    assert wanted.abs().max() > 0.5, "all logits are nearly zero"
    hugging_face.write(tmp_path / "ours", loaded.recipe, loaded.model, None)
    back, report = type(theirs).from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not report["unexpected_keys"]
    assert not {name for name in report["missing_keys"] if "embed_positions" not in name}
    with torch.no_grad():
        again = back.eval()(input_ids=source, attention_mask=real.long(), decoder_input_ids=shifted).logits
    assert torch.equal(again, wanted) or (again - wanted).abs().max() < 1e-5
    model = foreword.load(tmp_path / "theirs")
    alone = model.logits(source[2, :4].tolist(), target[2].tolist())
    assert np.abs(alone - wanted[2].numpy()).max() < 1e-4


@every_case
def test_token_by_token_and_by_beam_it_writes_what_theirs_writes(make, tmp_path):
    theirs = redrawn(make())
    theirs.save_pretrained(tmp_path / "theirs")
    source, _, _, _ = given(0)
    model = foreword.load(tmp_path / "theirs")
    logs, state = model.writer.begin([source[0].numpy(), source[1, :11].numpy()])
    written = [[], []]
    for _ in range(6):
        tokens = logs.argmax(-1).numpy()
        for text, token in zip(written, tokens.tolist()):
            text.append(token)
        logs, state = model.writer.advance(tokens, state)
    for row, length in ((0, 30), (1, 11)):
        ids = source[row : row + 1, :length]
        text = torch.tensor([[theirs.config.decoder_start_token_id]])
        with torch.no_grad():
            for _ in range(6):
                step = theirs(input_ids=ids, decoder_input_ids=text).logits[:, -1].argmax(-1, keepdim=True)
                text = torch.cat([text, step], 1)
        assert written[row] == text[0, 1:].tolist()


@pytest.mark.parametrize("norm", ["after", "before"])
def test_the_stacks_are_torchs(norm):
    """nn.TransformerEncoder and Decoder, with padding in the source; without positions, so that only the stacks count."""
    spec = EncoderDecoderSpec(
        layers=2, width=16, heads=2, context=20, inner=24, activation="relu", norm=norm, positions=Learned()
    )
    torch.manual_seed(0)
    ours = spec.build(Vocabulary(30, -1, ())).eval()
    with torch.no_grad():
        for weight in ours.parameters():
            weight.copy_(torch.randn_like(weight) * 0.3)
        for table in (ours.embeddings.positions.weight, ours.targets.positions.weight):
            table.zero_()
    common = {"dim_feedforward": 24, "dropout": 0.0, "batch_first": True, "norm_first": norm == "before"}
    last = (lambda: nn.LayerNorm(16)) if norm == "before" else (lambda: None)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, **common), 2, last(), enable_nested_tensor=False)
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(16, 2, **common), 2, last())

    def copied(attention, theirs):
        theirs.in_proj_weight.copy_(attention.project.weight)
        theirs.in_proj_bias.copy_(attention.project.bias)
        theirs.out_proj.load_state_dict(attention.out.state_dict())

    with torch.no_grad():
        for stack, theirs in ((ours.encoder, encoder), (ours.decoder, decoder)):
            for block, layer in zip(stack, theirs.layers):
                copied(block.attention, layer.self_attn)
                norms = [block.first.norm, block.second.norm]
                if block.cross is not None:
                    copied(block.cross, layer.multihead_attn)
                    norms.insert(1, block.between.norm)
                for number, mine in enumerate(norms, 1):
                    getattr(layer, f"norm{number}").load_state_dict(mine.state_dict())
                layer.linear1.load_state_dict(block.feedforward.inner.state_dict())
                layer.linear2.load_state_dict(block.feedforward.out.state_dict())
        if norm == "before":
            encoder.norm.load_state_dict(ours.encoder_norm.state_dict())
            decoder.norm.load_state_dict(ours.norm.state_dict())
        source, target = torch.randint(0, 30, (2, 7)), torch.randint(0, 30, (2, 5))
        real = torch.arange(7) < torch.tensor([[7], [4]])
        table = ours.table()
        read = encoder.eval()(table[source], src_key_padding_mask=~real)
        mask = nn.Transformer.generate_square_subsequent_mask(5)
        wanted = decoder.eval()(table[target], read, tgt_mask=mask, memory_key_padding_mask=~real)
        found = ours(Inputs(target, source=source, source_real=real)).last
    assert (found - wanted).abs().max() < 1e-4


def test_sinusoids_beyond_the_context_and_the_order_of_a_source():
    """Without positions the encoder does not know the order of its source; with them it does."""
    spec = EncoderDecoderSpec(layers=1, width=16, heads=2, context=9, positions=Sinusoid())
    torch.manual_seed(0)
    made = spec.build(Vocabulary(30, -1, ())).eval()
    target, source = torch.tensor([[3, 4]]), torch.tensor([[5, 6, 7, 8]])
    with torch.no_grad():
        for weight in made.parameters():
            weight.normal_(0, 0.5)
        one, other = (made(Inputs(target, source=text)).last for text in (source, source.flip(1)))
        assert (one - other).abs().max() > 1e-3
        made.embeddings.positions = nn.Identity()
        made.embeddings.positions.add = lambda x, positions: x
        made.embeddings.positions.where = lambda positions, keys: None
        one, other = (made(Inputs(target, source=text)).last for text in (source, source.flip(1)))
    assert (one - other).abs().max() < 1e-4


def test_adafactor_takes_the_steps_of_the_reference():
    torch.manual_seed(0)
    shapes = [(6, 10), (12, 5), (7,), (1, 4)]
    mine, theirs = (
        [nn.Parameter(torch.randn(shape, generator=torch.Generator().manual_seed(3))) for shape in shapes]
        for _ in range(2)
    )
    ours = Adafactor([(weight, 1) for weight in mine], lr=0.05)
    reference = transformers.Adafactor(theirs, lr=0.05, scale_parameter=True, relative_step=False, warmup_init=False)
    for _ in range(20):
        for a, b in zip(mine, theirs):
            a.grad = torch.randn_like(a)
            b.grad = a.grad.clone()
        ours.step()
        reference.step()
    assert all((a - b).abs().max() < 1e-6 for a, b in zip(mine, theirs))
    kept = sum(value.numel() for state in ours.state.values() for value in state.values())
    assert kept == sum(sum(shape) for shape in shapes) + len(shapes)  # and a number of steps each


def test_adafactor_takes_stacked_maps_apart():
    torch.manual_seed(0)
    whole = nn.Parameter(torch.randn(9, 4))
    parts = [nn.Parameter(part.clone()) for part in whole.detach().chunk(3)]
    one, three = Adafactor([(whole, 3)], lr=0.1), Adafactor([(part, 1) for part in parts], lr=0.1)
    for _ in range(3):
        whole.grad = torch.randn(9, 4)
        for part, grad in zip(parts, whole.grad.chunk(3)):
            part.grad = grad.clone()
        one.step()
        three.step()
    assert torch.allclose(whole, torch.cat(parts), atol=1e-6)
