"""``labelspan adapt``: compress vectors of a model and adapt them to labels."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .shared import AsJson, Force, plain_errors, print_json, progress_bar

if TYPE_CHECKING:
    from ..adapt import Adapter
    from ..datasets.vector_files import RowLabels, VectorFile

__all__ = ["adapt"]


def adapt(  # noqa: PLR0917 - typer reads options from parameters
    vectors: Annotated[
        Path,
        typer.Argument(
            metavar="VECTORS",
            help="Vectors, one per row: .npy, .npz, .safetensors, or a list column of .parquet.",
            show_default=False,
        ),
    ],
    labels: Annotated[
        Path,
        typer.Option(
            "--labels",
            metavar="FILE",
            help="Labels, one row per vector in the same order: .jsonl, .csv, .tsv, .parquet, .txt "
            "(a row per line), .npy (0 and 1, or classes) or .npz (sparse).",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="The map: .npz (numpy), .onnx, .faiss, or a folder for sentence-transformers.",
        ),
    ] = Path("adapter.npz"),
    dimensions: Annotated[
        int | None,
        typer.Option(help="Number of dimensions (default: chosen on held-out rows).", min=1),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Array or column of the vectors, if the file has several.")
    ] = None,
    field: Annotated[
        str | None, typer.Option(help="Field of the labels in a table (default: guessed).")
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="Separator between labels in a string (default: guessed).")
    ] = None,
    empty_is_none: Annotated[
        bool,
        typer.Option(
            "--empty-is-none",
            help="Rows without labels are known to have none; by default they are unknown.",
        ),
    ] = False,
    min_count: Annotated[
        int, typer.Option(help="Leave out labels with fewer rows than this.", min=1)
    ] = 2,
    save_vectors: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Also write the adapted vectors: .npy, in float32."),
    ] = None,
    by_labels: Annotated[
        bool,
        typer.Option(
            "--by-labels",
            help="Also use the known labels to compute the saved vectors.",
        ),
    ] = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Compress model embeddings, and adapt them to your labels.

    One linear map, written for numpy, ONNX, faiss or sentence-transformers. It is compared on
    held-out rows with the original vectors and with PCA; if the labels bring no gain, it is PCA.
    Files are read in batches and may be larger than memory.

    For example:
      labelspan adapt embeddings.npy --labels tags.jsonl --dimensions 64
      labelspan adapt items.parquet --labels items.parquet --field tags --out adapter.onnx
      labelspan adapt embeddings.npy --labels tags.txt --save-vectors small.npy --by-labels
    """
    with plain_errors():
        start = time.perf_counter()
        _check_out(out, save_vectors, force=force)
        from ..datasets.vector_files import open_vectors, read_label_file  # noqa: PLC0415
        from ..errors import InvalidInput  # noqa: PLC0415

        opened = open_vectors(vectors, name=name)
        rows = read_label_file(
            labels,
            field=field,
            separator=separator,
            empty="none" if empty_is_none else "unknown",
            min_count=min_count,
        )
        if opened.shape[0] != len(rows):
            raise InvalidInput(
                f"{vectors} holds {opened.shape[0]:,} vectors, but {labels} has labels for "
                f"{len(rows):,} rows; give one row of labels per vector, in the same order."
            )
        typer.echo(
            f"  {opened.shape[0]:,} vectors of {opened.shape[1]} dimensions, "
            f"{int((~rows.unknown).sum()):,} with labels; {len(rows.names):,} labels",
            err=True,
        )
        from ..adapt import Adapter, export_map  # noqa: PLC0415

        adapter = Adapter("auto" if dimensions is None else dimensions)
        classes = list(rows.names) if len(rows.names) > 1 else [0, 1]
        with progress_bar("reading") as report:
            for place, batch, block in _batches(opened, rows):
                adapter.partial_fit(batch, block, classes=classes, solve=False)
                report(place, opened.shape[0])
        export_map(adapter.solve(), out)
        if save_vectors is not None:
            _save(adapter, opened, rows, save_vectors, by_labels=by_labels)
        found = adapter.report_
        seconds = round(time.perf_counter() - start, 2)
    if as_json:
        saved = None if save_vectors is None else str(save_vectors)
        answer = {"map": str(out), "vectors": saved, **found.to_dict(), "seconds": seconds}
        print_json(answer)
        return
    typer.echo(str(found))
    typer.echo(f"\nThe map is in {out}, after {seconds:.1f} s.")


def _batches(opened: VectorFile, rows: RowLabels) -> Iterator[tuple[int, Any, Any]]:
    """Yield the number of rows read so far, vectors, and their labels."""
    start = 0
    for batch in opened.batches():
        stop = start + batch.shape[0]
        block = rows.block(start, stop)
        # One column is read as classes: 1 and 0.
        yield stop, batch, block if block.shape[1] > 1 else block[:, 0]
        start = stop


def _save(
    adapter: Adapter, opened: VectorFile, rows: RowLabels, path: Path, *, by_labels: bool
) -> None:
    import numpy as np  # noqa: PLC0415

    from .._files import write_whole  # noqa: PLC0415

    shape = opened.shape[0], adapter.n_components_

    def write(file: Any) -> None:
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        for _, batch, block in _batches(opened, rows):
            places = adapter.transform(batch, labels=block if by_labels else None)
            file.write(np.ascontiguousarray(places, dtype="<f4").tobytes())

    write_whole(path, write)


def _check_out(out: Path, save_vectors: Path | None, *, force: bool) -> None:
    """Raise an error before any work is done if the output must not or cannot be written."""
    from ..errors import InvalidInput  # noqa: PLC0415

    if out.suffix.lower() not in (".npz", ".onnx", ".faiss", ""):
        raise InvalidInput(
            f"--out must end in .npz, .onnx or .faiss, or name a folder, but is {str(out)!r}."
        )
    if save_vectors is not None and save_vectors.suffix.lower() != ".npy":
        raise InvalidInput(f"--save-vectors must end in .npy, but is {str(save_vectors)!r}.")
    for path in (out, save_vectors):
        if path is not None and path.exists() and not force:
            raise InvalidInput(f"{str(path)!r} exists; give --force to overwrite it.")
