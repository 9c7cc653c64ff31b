"""Networks: ids in, one vector per position out, and whatever is remembered for the next call."""

from foreword.basics.registry import Registry

KINDS = Registry(
    "network",
    {
        "causal_transformer": "foreword.networks.causal:CausalTransformerSpec",
        "bidirectional_transformer": "foreword.networks.bidirectional:BidirectionalTransformerSpec",
        "hybrid_transformer": "foreword.networks.hybrid:HybridTransformerSpec",
        "segment_transformer": "foreword.networks.segment:SegmentTransformerSpec",
        "two_stream_transformer": "foreword.networks.two_stream:TwoStreamTransformerSpec",
        "encoder_decoder": "foreword.networks.encoder_decoder:EncoderDecoderSpec",
        "generator_discriminator": "foreword.networks.generator_discriminator:GeneratorDiscriminatorSpec",
        "recurrent": "foreword.networks.recurrent:RecurrentSpec",
        "bidirectional_recurrent": "foreword.networks.bidirectional_recurrent:BidirectionalRecurrentSpec",
        "recurrent_encoder_decoder": "foreword.networks.recurrent_encoder_decoder:RecurrentEncoderDecoderSpec",
        "sentence_context": "foreword.networks.sentence_context:SentenceContextSpec",
        "sentence_writers": "foreword.networks.sentence_writers:SentenceWritersSpec",
        "window": "foreword.networks.window:WindowSpec",
    },
)
OVER = Registry("network over another", {"features": "foreword.networks.features:FeaturesSpec"})
