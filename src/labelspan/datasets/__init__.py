"""Data sets with their cards, readers for files of one's own, and generators.

A loader looks for its file in ``data_home`` (its argument, then the environment variable
``LABELSPAN_DATA``, then the user's cache), verifies it by sha256, and otherwise asks a public
source, where scikit-learn or OpenML has the set.
"""

from . import (
    balance,
    cora,
    debtags,
    emotions,
    housing,
    iris,
    mediamill,
    orl,
    pie,
    protein,
    rcv1,
    rcv1_full,
    reuters21578,
    soybean,
    usps,
    wine,
    yahoo_arts,
    yahoo_science,
    yale,
    yeast,
)
from .balance import load_balance
from .cora import load_cora
from .corpora import TaggedTexts, read_corpus
from .dataset import Card, DataSet
from .debtags import Debtags, load_debtags
from .emotions import load_emotions
from .files import data_home
from .generators import Tagged, make_tagged_corpus, make_tagged_vectors
from .housing import load_housing
from .iris import load_iris
from .mediamill import load_mediamill
from .npz import read_npz, write_npz
from .orl import load_orl
from .pie import load_pie
from .protein import load_protein
from .rcv1 import load_rcv1
from .rcv1_full import load_rcv1_full
from .readers import read_arff, read_csv, read_jsonl, read_libsvm, read_parquet
from .registry import card, load, names, register
from .reuters21578 import load_reuters21578
from .soybean import load_soybean
from .usps import load_usps
from .wine import load_wine
from .yahoo_arts import load_yahoo_arts
from .yahoo_science import load_yahoo_science
from .yale import load_yale
from .yeast import load_yeast

__all__ = [
    "Card",
    "DataSet",
    "Debtags",
    "Tagged",
    "TaggedTexts",
    "card",
    "data_home",
    "load",
    "load_balance",
    "load_cora",
    "load_debtags",
    "load_emotions",
    "load_housing",
    "load_iris",
    "load_mediamill",
    "load_orl",
    "load_pie",
    "load_protein",
    "load_rcv1",
    "load_rcv1_full",
    "load_reuters21578",
    "load_soybean",
    "load_usps",
    "load_wine",
    "load_yahoo_arts",
    "load_yahoo_science",
    "load_yale",
    "load_yeast",
    "make_tagged_corpus",
    "make_tagged_vectors",
    "names",
    "read_arff",
    "read_corpus",
    "read_csv",
    "read_jsonl",
    "read_libsvm",
    "read_npz",
    "read_parquet",
    "register",
    "write_npz",
]

for _module in (
    balance,
    cora,
    debtags,
    emotions,
    housing,
    iris,
    mediamill,
    orl,
    pie,
    protein,
    rcv1,
    rcv1_full,
    reuters21578,
    soybean,
    usps,
    wine,
    yahoo_arts,
    yahoo_science,
    yale,
    yeast,
):
    register(_module.CARD, getattr(_module, f"load_{_module.CARD.name}"))
