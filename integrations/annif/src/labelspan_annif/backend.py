"""The backend ``labelspan``: a ridge regression for all subjects, and votes of neighbours."""

from __future__ import annotations

import os.path
from typing import Any

import numpy as np
from annif.backend import backend
from annif.exception import NotInitializedException, NotSupportedException
from annif.suggestion import SuggestionBatch
from scipy.sparse import csr_array

from labelspan import LSI, SemanticIndex
from labelspan.corpus import LabelVocabulary, read_vocabulary
from labelspan.errors import InvalidParameter, LabelspanError
from labelspan.text import check_language

__all__ = ["LabelspanBackend"]


class LabelspanBackend(backend.AnnifBackend):
    """Suggests subjects by the tagger of a labelspan index, with calibrated probabilities.

    The analyzer of the project is not used: labelspan stems words by the language of the project,
    and takes parts of words as features too. The index has the preferred names of the subjects as
    labels, and the vocabulary with alternative names and what is broader.
    """

    name = "labelspan"
    FOLDER = "labelspan-index"
    _index: SemanticIndex | None = None
    _uris: dict[str, str] | None = None

    @property
    def _path(self) -> str:
        return os.path.join(self.datadir, self.FOLDER)

    def initialize(self, parallel: bool = False) -> None:
        """Load the index."""
        if self._index is None:
            try:
                self._index = SemanticIndex.load(self._path)
            except LabelspanError as error:
                raise NotInitializedException(str(error), backend_id=self.backend_id) from error

    def _vocabulary(self) -> LabelVocabulary:
        """Return the vocabulary of the project, as Annif keeps it in SKOS."""
        vocab = self.project.vocab
        path = os.path.join(vocab.datadir, vocab.INDEX_FILENAME_TTL)
        language = self.project.vocab_lang
        try:
            return read_vocabulary(path, language if language in vocab.languages else None)
        except LabelspanError as error:
            self.warning(f"subjects are named by their URIs: {error}")
            return LabelVocabulary()

    def _train(self, corpus: Any, params: dict[str, Any], jobs: int = 0) -> None:
        if corpus == "cached":
            raise NotSupportedException("Training from cached data is not supported.")
        if corpus.is_empty():
            raise NotSupportedException("Cannot train labelspan project with no documents")
        vocabulary = self._vocabulary()
        names = vocabulary.names
        texts, labels = [], []
        for document in corpus.documents:
            texts.append(document.text)
            uris = [self.project.subjects[own].uri for own in document.subject_set]
            labels.append([names.get(uri, uri) for uri in uris])
        try:
            language = check_language("labelspan", self.project.language)
        except InvalidParameter:
            language = "auto"
        self.info(f"learning from {len(texts)} documents")
        # The space is not needed for suggestions.
        index = SemanticIndex(estimator=LSI(2), language=language).fit(texts, labels)
        index.use_vocabulary(vocabulary).save(self._path)
        self._index, self._uris = index, None

    def _suggest_batch(self, documents: list[Any], params: dict[str, Any]) -> SuggestionBatch:
        assert self._index is not None
        if self._uris is None:
            known = self._index.vocabulary or LabelVocabulary()
            self._uris = {name: uri for uri, name in known.names.items()}
        limit = int(params["limit"])
        found = self._index.tag([document.text for document in documents], limit)
        rows, columns, scores = [], [], []
        for row, tags in enumerate(found):
            for tag in tags:
                subject = self.project.subjects.by_uri(
                    self._uris.get(tag.label, tag.label), warnings=False
                )
                # A subject may have left the vocabulary since.
                if subject is not None:
                    rows.append(row)
                    columns.append(subject)
                    scores.append(tag.probability)
        shape = (len(documents), len(self.project.subjects))
        values = np.array(scores, dtype=np.float32)
        return SuggestionBatch(csr_array((values, (rows, columns)), shape=shape))
