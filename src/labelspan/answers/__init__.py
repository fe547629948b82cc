"""What is told about items and labels, as typed dictionaries: one vocabulary of keys for everyone.

Pages, their JSON, ``/api/1``, assistants and ``--json`` print these.
"""

from .items import HitData, ItemData, hit_data, item_data, rounded
from .tags import NearItemData, TagData, TagReasonData, near_items, tag_data, tag_reason

__all__ = [
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
