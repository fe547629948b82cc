"""``labelspan fit --scheduler``: the local answer from a cluster, and every way to be refused."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError

import numpy as np
import pytest
from _support.commands import run
from _support.tagged import WORDS, as_lines, rows

from labelspan import SemanticIndex
from labelspan.errors import Mismatch
from labelspan.operators.cluster import cluster_client
from labelspan.operators.cluster.worker_blocks import WorkerBlocks

distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")


@contextmanager
def started(workers):
    """A cluster of processes with one thread each, on the loopback."""
    with distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        scheduler_kwargs={"dashboard_address": ":0"},
        silence_logs=60,
    ) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def cluster():
    with started(2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client(cluster):
    with distributed.Client(cluster, set_as_default=False) as client:
        yield client


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.jsonl").write_text(as_lines(rows(60)))
    return tmp_path


def as_process(*args):
    """The command as a shell runs it."""
    command = [sys.executable, "-c", "from labelspan.cli import app; app()", *map(str, args)]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=env, check=False)


def refused(address, here, *more):
    """The sentence of a command that wrote nothing."""
    result = run("fit", "corpus.jsonl", "-o", "out", "--scheduler", address, *more)
    assert result.exit_code == 1, result.output
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1, result.stderr
    assert [path.name for path in here.iterdir()] == ["corpus.jsonl"]
    return result.stderr


def same_spaces(found, wanted, atol=1e-5):
    with SemanticIndex.load(found) as ours, SemanticIndex.load(wanted) as local:
        np.testing.assert_allclose(ours.space.eigenvalues_, local.space.eigenvalues_, rtol=1e-5)
        one, two = ours.vectors(), local.vectors()
        np.testing.assert_allclose(one @ one.T, two @ two.T, atol=atol)
        assert ours.ids == local.ids
        query = " ".join(WORDS["sound"])
        assert [hit.id for hit in ours.search(query)] == [hit.id for hit in local.search(query)]
        if local.labels:
            assert [tag.label for tag in ours.tag(query)] == [tag.label for tag in local.tag(query)]


# --- the local answer ---------------------------------------------------------------------


def test_the_command_gives_the_local_answer(cluster, client, here):
    asked = ("fit", "corpus.jsonl", "--dimensions", 3)
    assert run(*asked, "-o", "local").exit_code == 0
    done = as_process(*asked, "-o", "far", "--scheduler", cluster.scheduler_address, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["items"] == 60
    assert f"2 workers with 2 threads at {cluster.scheduler_address}" in done.stderr
    # Only what the command says itself: Dask's loggers are silent. On a slow machine it tells
    # how far it has come.
    own = ("  ", "Try:", "learning: ")
    assert all(line.startswith(own) for line in done.stderr.splitlines()), done.stderr
    same_spaces("far", "local")
    assert client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)) == 0


def fit_far(cluster, monkeypatch, event):
    """Fit on a cluster to which something happens at the fifth pass; return the passes as well."""
    passes, held_run = [], WorkerBlocks.run

    def counted(self, name, *args, **options):
        passes.append(name)
        if len(passes) == 5:
            event(self)
        return held_run(self, name, *args, **options)

    monkeypatch.setattr(WorkerBlocks, "run", counted)
    options = ("-o", "far", "--scheduler", cluster.scheduler_address)
    return run("fit", "corpus.jsonl", "--dimensions", 3, *options), passes


def test_a_worker_killed_during_a_fit_changes_nothing(here, monkeypatch):
    assert run("fit", "corpus.jsonl", "--dimensions", 3, "-o", "local").exit_code == 0
    # Of its own: a cluster does not always replace a killed worker.
    with started(2) as cluster, distributed.Client(cluster, set_as_default=False) as client:
        workers = client.run(os.getpid)
        result, passes = fit_far(
            cluster, monkeypatch, lambda rows: os.kill(workers[rows._homes[0]], signal.SIGKILL)
        )
    assert result.exit_code == 0, result.output
    # The fit went on after the fifth pass.
    assert len(passes) > 8
    same_spaces("far", "local")


# --- refusals -----------------------------------------------------------------------------


@contextmanager
def server(answer):
    """A server on the loopback that says something of its own, or nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        taken = []

        def serve():
            while True:
                try:
                    taken.append(listening.accept()[0])
                except OSError:
                    return
                if answer:
                    taken[-1].sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()
        for connection in taken:
            connection.close()


def test_no_answer_at_the_address(here, monkeypatch):
    monkeypatch.setattr(cluster_client, "_PATIENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"tcp://127.0.0.1:{closed.getsockname()[1]}"
    said = refused(address, here)
    assert f"No scheduler answers at {address} within 0.5 s; start one with" in said
    with server(b"") as mute:
        assert "No scheduler answers" in refused(mute, here)


def test_another_server_answers(cluster, client, here):
    with server(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n") as web:
        assert f"The server at {web} is not a Dask scheduler" in refused(web, here)
    worker = sorted(client.nthreads())[0]
    assert f"The server at {worker} is a Worker, not a scheduler" in refused(worker, here)


def test_a_scheduler_without_workers(here, monkeypatch):
    monkeypatch.setattr(cluster_client, "_PATIENCE", 0.5)
    with started(0) as empty:
        said = refused(empty.scheduler_address, here)
    assert (
        f"has no workers; start some, for example with 'dask worker {empty.scheduler_address}'"
        in said
    )


@pytest.mark.parametrize(
    ("version", "said"), [("0.0.1", "0.0.1"), (PackageNotFoundError(), "none")]
)
def test_workers_with_another_labelspan(version, said):
    class Fake:
        def run(self, *args, **options):
            return {"tcp://a:1": version}

    with pytest.raises(Mismatch, match=rf"worker tcp://a:1 has labelspan {said}, and here is"):
        cluster_client._check_versions(Fake())


def test_a_cluster_that_goes_away_is_reported(here, monkeypatch):
    """The scheduler and its workers gone in mid-fit."""
    with started(1) as going:
        result, _ = fit_far(going, monkeypatch, lambda rows: going.close())
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 1
    assert "The scheduler does not answer" in result.stderr.splitlines()[-1]
    assert not (here / "far").exists()
