"""The index that is served, loaded again when it changes on disk."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from .._typing import Array
from ..answers.collection import MOST_OTHERS, MapState
from ..answers.common import Given, cached
from ..answers.findings import AuditState
from ..curation import Finding, Review, audit_labels
from ..curation.audit_results import KINDS, PAIRS
from ..display.map_data import MapPoints, draw_points, whole_positions
from ..errors import LabelspanError, NotFound, NotReady
from ..index import SemanticIndex
from ..index.results import LabelReport
from ..index.tagging import ItemTagger
from .access import Access
from .editing import Editing

__all__ = ["Served", "Snapshot"]

_log = logging.getLogger("labelspan.web")
_SECONDS_TO_STOP = 5.0
_SECONDS_BETWEEN_LOOKS = 1.0
# Loading an index reads all its files, so after a failure it is tried less often.
_LOOKS_AFTER_A_PROBLEM = 5
# What a page waits for how well labels are predicted, if that is not known, or of older items.
_SECONDS_FOR_REPORT, _SECONDS_FOR_NEWER = 2.0, 0.2
# What takes long is begun when nothing has changed for as long, or for this time.
_SECONDS_QUIET = 2.0
_SKETCHED = 4000

Task = Literal["report", "audit", "map"]


class Snapshot:
    """One state of an index, which does not change during a request."""

    def __init__(self, index: SemanticIndex) -> None:
        self.index = index
        self.tags = index.can_tag
        # Computed once and kept by the index, so that no request waits for it.
        index.axes(1, [0])
        index.search(None, 1, items=index.ids[:1])
        if self.tags:
            index.tag(items=index.ids[:1], k=1)
        self.map: MapPoints | None = None
        self.map_state: MapState = "drawing"
        self.map_percent = 0
        # Places of some of the points while they are computed.
        self.map_sketch = b""
        # Items from which the map has its labels, and who gives it others.
        self._coloured, self._colouring = -1, threading.Lock()
        self.review = Review(index)
        # Findings about more than a label of an item.
        self._others: Sequence[Finding] = ()
        self.audit_state: AuditState = "none"
        self.users = 0
        self.retired = False
        # What follows changes of items without being asked for.
        self.tasks: tuple[Task, ...] = ()
        # Keeps the index open for a thread that outlives the request that started it.
        self.keep: Callable[[], AbstractContextManager[Any]] = nullcontext
        # What is to be made, in this order, by one thread, if it is at work now.
        self._once, self._wanted, self._working = threading.Condition(), list[Task](), False
        # When something was changed last, and the seconds that each task took last.
        self._changed, self._took = 0.0, dict[Task, float]()
        # How well labels are predicted, and for which revision of the items.
        self._report: tuple[int, dict[str, LabelReport]] | None = None
        # Changes of items, and audits, until now.
        self._renewed = self._audited = 0
        self.closing = threading.Event()

    def mask(self, given: Given) -> Array | None:
        """Return a mask of the items that a finding is about, and that lie inside a polygon."""
        if not given["finding"] and not given["lasso"]:
            return None
        ids = self.index.ids
        mask = np.ones(len(ids), dtype=bool)
        if given["finding"]:
            names = self._concerned(given["finding"])
            mask &= np.fromiter((name in names for name in ids), bool, len(ids))
        if given["lasso"]:
            mask &= self._inside(given["lasso"])
        return mask

    def _concerned(self, kind: str) -> set[str]:
        """Return the ids of the items about which the audit has found something."""
        if kind not in KINDS:
            raise NotFound(f"finding: choose one of {', '.join(KINDS)}.")
        self.start_audit()
        if self.audit_state == "computing":
            raise NotReady("The audit is being computed; try again.")
        return {name for one in self.findings if one.kind == kind for name in one.items}

    def _inside(self, lasso: str) -> Array:
        """Return a mask of the items inside a polygon on the map."""
        drawn = self.map
        if drawn is None and self.map_state == "failed":
            raise NotFound("lasso: there is no map of this index.")
        if drawn is None:
            raise NotReady("The map is being drawn; try again.")
        corners = np.array([corner.split(".") for corner in lasso.split("_")], dtype=np.float64)
        return drawn.inside(corners)

    @property
    def findings(self) -> list[Finding]:
        """Findings of the audit without a decision; none before it is computed."""

        def make() -> list[Finding]:
            # Labels and items that are gone are not asked about.
            store = self.index.store
            others = (
                one
                for one in self._others
                if all(name in store.labels.totals for name in one.labels)
                and all(name in self.index for name in one.items)
            )
            return [*self.review.waiting(), *others]

        found: list[Finding] = []
        if self.audit_state == "ready":
            found = cached(self.index, ("findings", self._audited, self.index.store.number), make)
        return found

    def start_audit(self) -> None:
        """Audit the labels in the background, unless this was begun before."""
        with self._once:
            if not self.tags or self.audit_state != "none":
                return
            self.audit_state = "computing"
        self.want("audit")

    # --- what is made in the background -------------------------------------------------

    def want(self, *tasks: Task) -> None:
        """Let one thread, which keeps the index open, make reports, audit and map, one by one."""
        with self._once:
            self._wanted += [task for task in tasks if task not in self._wanted]
            if self._working or not self._wanted or self.closing.is_set():
                return
            self._working = True
        held = ExitStack()
        held.enter_context(self.keep())

        def run() -> None:
            with held:
                self._work()

        threading.Thread(target=run, name="work", daemon=True).start()

    def follow(self, *tasks: Task) -> None:
        """Learn and make what follows from a change; see :meth:`want`."""
        with self._once:
            self._changed = time.monotonic()
            self._once.notify_all()
        self.want(*tasks)

    def make(self, *tasks: Task) -> None:
        """Make the same in this thread."""
        with self._once:
            self._wanted += tasks
        self._work()

    def _work(self) -> None:
        """Make what is wanted for the newest items; what is out of date stops, and is last then."""
        make = {"report": self._make_report, "audit": self._make_audit, "map": self._make_map}
        while True:
            with self._once:
                if not self._wanted or self.closing.is_set():
                    self._working = False
                    self._once.notify_all()
                    return
                task = self._wanted.pop(0)
            try:
                self._wait_for_quiet(task)
                begun = time.monotonic()
                make[task]()
                self._took[task] = time.monotonic() - begun
            except _Stopped:
                with self._once:
                    self._wanted += [] if task in self._wanted else [task]
            with self._once:
                self._once.notify_all()

    def _wait_for_quiet(self, task: Task) -> None:
        """Learn what changes call for, and wait for a pause between them if the task takes long.

        What is begun between two changes would stop at the second, and slow requests down.
        """
        while not self.closing.is_set():
            try:
                self.index.learn()
            except Exception:
                # The settings stay as they were, and are learned after the next change.
                _log.exception("Settings of the tagger could not be learned.")
            with self._once:
                quiet = min(self._took.get(task, 0.0), _SECONDS_QUIET)
                left = self._changed + quiet - time.monotonic()
                if left <= 0:
                    return
                self._once.wait(left)
        raise _Stopped

    def stop(self, seconds: float) -> None:
        """Stop what is made in the background, and wait for that."""
        self.closing.set()
        with self._once:
            self._once.notify_all()
            self._once.wait_for(lambda: not self._working, seconds)

    def _check(self, revision: int) -> None:
        """Stop if items have other labels than at a revision."""
        if self.index.store.revision != revision or self.closing.is_set():
            raise _Stopped

    def _make_audit(self) -> None:
        """Audit the labels; if that fails, only the audit is missing."""
        if not self.tags:
            return
        index = self.index
        check = partial(self._check, index.store.revision)
        others: list[Finding] = []
        try:
            assert index.tagger is not None
            index.tagger.leave_out(check)
            for kind in KINDS:
                check()
                if kind not in PAIRS:
                    others += audit_labels(index, MOST_OTHERS, kinds=[kind]).findings
            check()
            self.review.order()
            self._others, self.audit_state = others, "ready"
        except _Stopped:
            raise
        except Exception:
            check()
            _log.exception("The labels could not be audited.")
            self.audit_state = "failed"
        self._audited += 1

    def renew(self) -> None:
        """Drop the map, whose items have come or gone."""
        self._renewed += 1
        self.map, self.map_state, self.map_percent = None, "drawing", 0

    def _make_map(self) -> None:
        """Lay out the items; if that fails, only the map is missing."""
        begun, coloured = self._renewed, self.index.store.revision

        def drawn(done: int, total: int) -> None:
            # The steps may be counted by numpy, whose numbers JSON does not know.
            self.map_percent = 100 * int(done) // max(int(total), 1)
            if self.closing.is_set() or self._renewed != begun:
                raise _Stopped

        def watch(places: Array) -> None:
            some = places[:: -(-len(places) // _SKETCHED)]
            self.map_sketch = whole_positions(some).astype("<i2").tobytes()

        try:
            made = draw_points(self.index, drawn, watch)
            drawn(1, 1)
        except Exception as error:
            if isinstance(error, _Stopped) or begun != self._renewed:
                # Items that change meanwhile make a map of other items, or none.
                raise _Stopped from None
            _log.exception("The map could not be drawn.")
            self.map_state = "failed"
            return
        with self._colouring:
            self.map, self.map_state, self._coloured = made, "ready", coloured

    def current_map(self) -> MapPoints | None:
        """Return the map with the current labels; the layout does not change."""
        with self._colouring:
            revision, drawn = self.index.store.revision, self.map
            if drawn is not None and revision != self._coloured:
                self.map, self._coloured = drawn.relabelled(self.index), revision
            return self.map

    def report(self, seconds: float | None = None) -> dict[str, LabelReport] | None:
        """Return how well each label is predicted; None if that takes longer to compute.

        It is waited for the longer if there is no older one, which is otherwise returned.
        """
        if not self.tags:
            return {}
        if not self._is_reported():
            self.want("report")
        with self._once:
            if seconds is None and self._report is None:
                seconds = _SECONDS_FOR_REPORT
            elif seconds is None:
                quick = self._took.get("report", 0.0) <= _SECONDS_FOR_NEWER
                seconds = _SECONDS_FOR_NEWER if quick else 0.0
            self._once.wait_for(lambda: self._is_reported() or self.closing.is_set(), seconds)
            known = self._report
        if known is None:
            return None
        # A label that no item has any more is still in the tagger.
        labels = self.index.store.labels.totals
        return {name: one for name, one in known[1].items() if name in labels}

    def _is_reported(self) -> bool:
        return self._report is not None and self._report[0] == self.index.store.revision

    def _make_report(self) -> None:
        """Report how well labels are predicted."""
        index = self.index
        revision = index.store.revision
        check = partial(self._check, revision)
        try:
            tagger = ItemTagger(index.model, index.store, index.tagger)
            made = {one.label: one for one in tagger.report(check)}
        except _Stopped:
            raise
        except Exception:
            check()
            _log.exception("How well labels are predicted could not be computed.")
            made = {}
        self._report = revision, made


class _Stopped(Exception):
    """The server ends, or what is made is not the newest any more."""


class Served:
    """The current snapshot of an index in a folder.

    A request keeps the snapshot that was current when it arrived. A replaced snapshot is closed
    when the last of its requests is done.

    Parameters
    ----------
    folder : path
        The folder of a saved index.
    edit : bool, default=False
        Whether labels may be changed: the index is then opened for writing, and pages for that
        are made, which are protected by a secret.
    who : str, default=""
        Who changes labels, for the history.
    corpus : path or None, default=None
        The file that the index was fitted on; by default the one that it knows.
    access : Access or None, default=None
        With ``edit``: who may change labels; None makes new secrets.

    Attributes
    ----------
    editing : Editing or None
        What labels are changed by, with the address that lets a browser in.

    See Also
    --------
    make_app : The application that answers from it.

    Examples
    --------
    >>> from labelspan.web import Served
    >>> with Served("papers.labelspan") as served:  # doctest: +SKIP
    ...     with served.lease() as snapshot:
    ...         len(snapshot.index)
    4899
    """

    def __init__(
        self,
        folder: str | PathLike[str],
        *,
        edit: bool = False,
        who: str = "",
        corpus: str | PathLike[str] | None = None,
        access: Access | None = None,
    ) -> None:
        self.folder = Path(folder)
        self._edit = edit
        # Guards the current snapshot, its users, and who reads or changes its items.
        self._state = threading.Condition()
        self._readers, self._writing = 0, False
        self.editing: Editing | None = None
        with ExitStack() as opened:
            self._current = self._load()
            opened.callback(self._current.index.close)
            if edit:
                file = None if corpus is None else Path(corpus)
                self.editing = Editing(self._current.index, who, file, access)
                self._current.review = self.editing.review
            # Everything could be opened, and stays open.
            opened.pop_all()
        self._stop = threading.Event()
        self._watcher: threading.Thread | None = None
        self._problem = ""

    @property
    def editor(self) -> Editing:
        """What labels are changed by, where they may be changed."""
        assert self.editing is not None
        return self.editing

    @contextmanager
    def lease(self) -> Iterator[Snapshot]:
        """Hold the current snapshot: in the block it stays open and its items do not change."""
        with self._state:
            self._state.wait_for(lambda: not self._writing)
            self._readers += 1
        try:
            with self.held() as held:
                yield held
        finally:
            with self._state:
                self._readers -= 1
                self._state.notify_all()

    @contextmanager
    def held(self, one: Snapshot | None = None) -> Iterator[Snapshot]:
        """Hold a snapshot, the current one by default, for long.

        It stays open, but items may come and go.
        """
        with self._state:
            held = self._current if one is None else one
            held.users += 1
        try:
            yield held
        finally:
            self._let_go(held)

    @contextmanager
    def changing_items(self) -> Iterator[None]:
        """Change items inside, while no request reads; what is shown follows."""
        with self._state:
            self._state.wait_for(lambda: not self._writing)
            # Readers that come later wait.
            self._writing = True
            self._state.wait_for(lambda: not self._readers)
        try:
            yield
        finally:
            self.renew(items=True)
            with self._state:
                self._writing = False
                self._state.notify_all()

    def look_again(self) -> bool:
        """Load the index again if it has changed on disk, and return whether it has.

        If the new one cannot be read, the old one is still served.
        """
        try:
            with self.lease() as held:
                if not held.index.stale():
                    self._problem = ""
                    return False
            newer = self._load()
        except Exception as error:
            # Whatever the error is, the thread must go on looking for changes.
            if repr(error) != self._problem:
                self._problem = repr(error)
                known = isinstance(error, LabelspanError | OSError)
                words = "The index changed and cannot be read, the old one stays: %s"
                _log.warning(words, error, exc_info=None if known else error)
            return False
        with self._state:
            older, self._current = self._current, newer
            older.users += 1
            older.retired = True
            tasks = older.tasks
        older.closing.set()
        newer.want(*tasks)
        self._problem = ""
        self._let_go(older)
        _log.info("The index changed: %s items.", f"{len(newer.index):,}")
        return True

    def renew(self, *, values: bool = False, items: bool = False, decided: bool = False) -> None:
        """Follow values of the metadata, items, or a decision undone, changed in this process."""
        with self.held() as held:
            if items:
                held.renew()
            if values or items:
                # The map has them, too; the one that is there is shown until it is drawn again.
                held.follow(*held.tasks)
            if decided and held.tasks:
                # What was decided before the queue was made is not in it.
                held.want("audit")

    def _load(self) -> Snapshot:
        # A file that is truncated would end a process that has mapped it.
        index = SemanticIndex.load(self.folder, write=self._edit, mapped=False)
        try:
            made = Snapshot(index)
        except BaseException:
            index.close()
            raise
        made.keep = partial(self.held, made)
        return made

    def _let_go(self, held: Snapshot) -> None:
        with self._state:
            held.users -= 1
            done = held.retired and not held.users
        if done:
            held.index.close()

    # --- watching -----------------------------------------------------------------------

    def start(self) -> None:
        """Draw the map and look for changes in the background until ``close``."""
        self.watch()
        with self.lease() as held:
            held.tasks = ("map",)
            if self.editing is not None:
                # As soon as labels have changed, so that no request waits for it.
                held.index.after_change = partial(held.follow, "report")
                held.want("report")
                held.start_audit()
            held.want("map")

    def watch(self) -> None:
        """Look for changes in the background until ``close``."""
        self._watcher = threading.Thread(target=self._watch, name="watch", daemon=True)
        self._watcher.start()

    def _watch(self) -> None:
        while True:
            looks = _LOOKS_AFTER_A_PROBLEM if self._problem else 1
            if self._stop.wait(looks * _SECONDS_BETWEEN_LOOKS):
                return
            self.look_again()

    def close(self) -> None:
        """Stop looking for changes, and close the index."""
        self._stop.set()
        if self._watcher is not None:
            self._watcher.join(_SECONDS_TO_STOP)
        # A layout that is being drawn stops at its next step and writes nothing later.
        self._current.stop(_SECONDS_TO_STOP)
        with self._state:
            held = self._current
            held.users += 1
            held.retired = True
        self._let_go(held)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
