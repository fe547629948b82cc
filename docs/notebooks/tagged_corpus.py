# %% [markdown]
# # A tagged corpus in ten minutes
#
# Texts and tags go in; search, tags, reasons and a map come out. The corpus comes with
# labelspan; a tenth of it is taken, so that every cell is quick.

# %%
from labelspan import MLSI, SemanticIndex
from labelspan.datasets import load_debtags

corpus = load_debtags().take(range(0, 4899, 10))
print(corpus)
print(corpus.texts[3][:200])
print(corpus.labels[3])

# %% [markdown]
# Learn an index: TF-IDF features, 20 dimensions that know the tags, and a tagger in that space.

# %%
index = SemanticIndex(estimator=MLSI(20))
index.fit(corpus.texts, corpus.labels, corpus.ids, metadata=corpus.metadata)
index

# %% [markdown]
# Search by meaning, by example, and with a filter.

# %%
for hit in index.search("edit audio files", k=5):
    print(f"{hit.score:.2f}  {hit.id:16} {hit.metadata['summary']}")

# %%
wanted = {"labels": ["interface::commandline"]}
found = index.search("convert images", k=5, filter=wanted)
assert all("interface::commandline" in hit.labels for hit in found)
[hit.id for hit in found]

# %% [markdown]
# Tags for a new text, and why an answer was given.

# %%
for tag in index.tag("A game of chess against the computer.", k=3):
    print(f"{tag.probability:.2f}  {tag.label:26} {'yes' if tag.chosen else ''}")

# %%
why = index.explain("edit audio files", index.search("edit audio files", k=1)[0].id, n=3)
print([word.word for word in why.words])

# %% [markdown]
# What the axes say, and a map (with matplotlib).

# %%
for axis in index.axes(4, numbers=[0, 1, 2]):
    print(axis.number, [entry.name for entry in axis.words.high], "/", axis.labels.high[0].name)

# %%
try:
    from labelspan.display import CorpusMapDisplay

    CorpusMapDisplay.from_index(index, title="Programs by meaning")
except ImportError:
    print("pip install 'labelspan[plot]' draws the map")

# %% [markdown]
# Keep it: a folder that loads without running code.

# %%
import tempfile
from pathlib import Path

folder = Path(tempfile.mkdtemp()) / "programs.labelspan"
index.save(folder)
assert len(SemanticIndex.load(folder)) == len(index)
