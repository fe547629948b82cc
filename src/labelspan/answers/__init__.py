"""What is told about an index, as typed dictionaries: items, labels, tags, findings, explanations.

Each function takes an index and parameters, and returns what pages, their JSON, ``/api/1``,
assistants, ``--json`` and exports print: one vocabulary of keys for everyone.
"""

from .common import Given, rounded
from .items import HitData, ItemData, hit_data, item_data
from .tags import NearItemData, TagData, TagReasonData, near_items, tag_data, tag_reason

__all__ = [
    "Given",
    "HitData",
    "ItemData",
    "NearItemData",
    "TagData",
    "TagReasonData",
    "hit_data",
    "item_data",
    "near_items",
    "rounded",
    "tag_data",
    "tag_reason",
]
