"""Modules small enough to hold in the head; networks are composed of them."""

from foreword.basics.registry import Registry

CELLS = Registry("cell", {"simple": "foreword.parts.cells:SimpleCell", "lstm": "foreword.parts.cells:LstmCell"})
HEADS = Registry(
    "head",
    {
        "softmax": "foreword.parts.heads:Softmax",
        "transformed_softmax": "foreword.parts.heads:TransformedSoftmax",
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
VISIBLE = Registry(
    "visible", {"dense": "foreword.parts.visible:Dense", "alternating": "foreword.parts.visible:Alternating"}
)
