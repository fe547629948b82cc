"""Features of texts by scikit-learn, as a reference."""

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer


def tfidf():
    """TF-IDF of words and pairs, as an index of fewer than 1,000 texts in ASCII computes them."""
    return TfidfVectorizer(
        token_pattern=r"\w+", ngram_range=(1, 2), sublinear_tf=True, dtype=np.float32
    )
