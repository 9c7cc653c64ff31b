"""Modules small enough to hold in the head; networks are composed of them."""

from foreword.basics.registry import Registry

CELLS = Registry(
    "cell",
    {
        "simple": "foreword.parts.cells:SimpleCell",
        "lstm": "foreword.parts.lstm:LstmCell",
        "peephole_lstm": "foreword.parts.peephole_lstm:PeepholeLstmCell",
        "layer_norm_lstm": "foreword.parts.layer_norm_lstm:LayerNormLstmCell",
        "gru": "foreword.parts.gru:GruCell",
        "multiplicative": "foreword.parts.multiplicative:MultiplicativeCell",
        "tensor": "foreword.parts.multiplicative:TensorCell",
        "mlstm": "foreword.parts.mlstm:MultiplicativeLstmCell",
        "block_sparse_lstm": "foreword.parts.block_sparse_lstm:BlockSparseLstmCell",
    },
)
WORDS = Registry(
    "words",
    {
        "table": "foreword.parts.words:TableSpec",
        "characters": "foreword.parts.words:Characters",
        "adaptive": "foreword.parts.adaptive_words:Adaptive",
    },
)
BETWEEN = Registry(
    "between", {"nothing": "foreword.parts.experts:NothingBetween", "experts": "foreword.parts.experts:ExpertsSpec"}
)
LINEAR = Registry(
    "linear map", {"dense": "foreword.parts.linear:DenseSpec", "block_sparse": "foreword.parts.linear:BlockSparseSpec"}
)
LAYOUTS = Registry(
    "layout",
    {
        "watts_strogatz": "foreword.parts.layouts:WattsStrogatz",
        "barabasi_albert": "foreword.parts.layouts:BarabasiAlbert",
        "balanced": "foreword.parts.layouts:Balanced",
        "diagonal": "foreword.parts.layouts:Diagonal",
        "full": "foreword.parts.layouts:Full",
    },
)
FEEDFORWARD = Registry(
    "feed-forward network",
    {
        "block_sparse": "foreword.parts.feedforward:BlockSparseFeedForward",
        "experts": "foreword.parts.experts:ExpertsSpec",
        "separable": "foreword.parts.separable:Separable",
    },
)
HEADS = Registry(
    "head",
    {
        "softmax": "foreword.parts.heads:Softmax",
        "transformed_softmax": "foreword.parts.heads:TransformedSoftmax",
        "sampled_softmax": "foreword.parts.sampled_softmax:SampledSoftmax",
        "class_softmax": "foreword.parts.class_softmax:ClassSoftmax",
        "adaptive_softmax": "foreword.parts.class_softmax:AdaptiveSoftmax",
        "character_softmax": "foreword.parts.character_softmax:CharacterSoftmax",
    },
)
POSITIONS = Registry(
    "positions",
    {
        "learned": "foreword.parts.positions:Learned",
        "sinusoid": "foreword.parts.positions:Sinusoid",
        "rotary": "foreword.parts.positions:Rotary",
        "distance_bias": "foreword.parts.positions:DistanceBias",
        "relative": "foreword.parts.positions:Relative",
    },
)
DEPTHS = Registry("depth", {"recurring": "foreword.parts.depth:Recurring"})
STACKS = Registry("stack", {"stack": "foreword.parts.stack:OwnStack"})
VISIBLE = Registry(
    "visible",
    {
        "dense": "foreword.parts.visible:Dense",
        "alternating": "foreword.parts.visible:Alternating",
        "blocks": "foreword.parts.visible:LayoutPattern",
    },
)
