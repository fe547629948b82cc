"""Labels predicted from features: one regression for all labels, votes, and one threshold.

The interface of the package:

1. **Learn.** ``labelspan.tagger.learning.learn_tagger(labels, targets, features, rows)``: names of
   the columns, a 0/1 CSR matrix, the features of the labelled items (for texts
   ``TextFeatures.transform`` with the kind ``TAGS`` of :mod:`labelspan.text`; otherwise any
   float32 array), and their row numbers in the collection, which are permanent. This module is
   not imported here, because it needs scikit-learn and the rest does not.
2. **Ask.** ``tagger.best(features, k)`` gives columns and probabilities, ``tagger.probabilities``
   all of them; a label is chosen if its probability reaches ``tagger.thresholds``.
   For labelled items, ``own=tagger.places(rows)`` predicts exactly as a tagger of the other items
   would. ``tagger.left_out`` has these predictions for all labelled items, ``tagger.record``
   how often decisions by them are right. ``tagger.contributions`` and ``tagger.voters.nearest``
   explain a prediction.
3. **Change.** ``tagger.updated(labels, rows, targets, features, removed)`` returns a tagger after
   items were added, relabelled (one or many at once) or removed: that of the present items with
   the same settings. Features are needed only for items that are new to the tagger. A tagger is
   never changed in place, and whatever is cached in it belongs to its items.
4. **Store.** ``tagger.arrays()`` is a dictionary of named arrays for files of arrays;
   ``Tagger.from_arrays(labels, arrays)`` checks that they fit together. The names of the labels
   are stored by the caller.
"""

from .decision import NEVER, Decision, LabelRecord, LeftOutTags
from .label_tagger import Tagger, Voters

__all__ = ["NEVER", "Decision", "LabelRecord", "LeftOutTags", "Tagger", "Voters"]
