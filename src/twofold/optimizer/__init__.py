"""``mx.optimizer``, ``mx.opt``: the update rules of training."""

from .adam import Adam, Adamax, Nadam
from .base import Optimizer, create, register
from .decoupled import Adafactor, AdamW, Lion, Muon, RAdam
from .follow_leader import FTML, Ftrl
from .layerwise import LAMB, LARS, LBSGD
from .sgd import DCASGD, NAG, SGD, SGLD, Signum, Test, ccSGD
from .squared_gradients import AdaDelta, AdaGrad, GroupAdaGrad, RMSProp
from .updater import Updater, get_updater

__all__ = [
    "DCASGD",
    "FTML",
    "LAMB",
    "LARS",
    "LBSGD",
    "NAG",
    "SGD",
    "SGLD",
    "AdaDelta",
    "AdaGrad",
    "Adafactor",
    "Adam",
    "AdamW",
    "Adamax",
    "Ftrl",
    "GroupAdaGrad",
    "Lion",
    "Muon",
    "Nadam",
    "Optimizer",
    "RAdam",
    "RMSProp",
    "Signum",
    "Test",
    "Updater",
    "ccSGD",
    "create",
    "get_updater",
    "register",
]
