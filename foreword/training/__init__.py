"""Training: the Trainer owns the calendar, the Learner owns the update."""

from foreword.basics.registry import Registry

KINDS = Registry(
    "training",
    {
        "gradient": "foreword.training.gradient:GradientTraining",
        "online": "foreword.training.online:OnlineTraining",
        "counting": "foreword.training.counting:CountTraining",
    },
)
OPTIMIZERS = Registry(
    "optimizer",
    {
        "adamw": "foreword.training.optimizers:AdamW",
        "adam": "foreword.training.optimizers:Adam",
        "adamax": "foreword.training.optimizers:Adamax",
        "adagrad": "foreword.training.optimizers:Adagrad",
        "sgd": "foreword.training.optimizers:SGD",
        "muon": "foreword.training.optimizers:MuonAndAdam",
        "adafactor": "foreword.training.adafactor:AdafactorSpec",
        "lamb": "foreword.training.lamb:Lamb",
    },
)
SCHEDULES = Registry(
    "schedule",
    {
        "constant": "foreword.training.schedules:Constant",
        "linear": "foreword.training.schedules:Linear",
        "cosine": "foreword.training.schedules:Cosine",
        "warm_down": "foreword.training.schedules:WarmDown",
        "inverse_root": "foreword.training.schedules:InverseRoot",
        "halving": "foreword.training.schedules:Halving",
        "inverse": "foreword.training.schedules:Inverse",
    },
)
