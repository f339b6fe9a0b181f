"""Files of an archive in S3, on a server that speaks its protocol."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from odradek.pipeline.batches import Batch
from odradek.pipeline.data_files import DataFile
from odradek.pipeline.errors import PipelineError, WrongOptionError
from odradek.pipeline.ledger import Ledger
from odradek.pipeline.s3_store import S3Store, storage_options
from pyspark_odradek.offsets import TopicPartition
from tests.support.s3_server import BUCKET, KEYS, s3_server

ROOT = f"s3://{BUCKET}/some/archive"
A0 = TopicPartition("a", 0)


@pytest.fixture(scope="module")
def store() -> Iterator[S3Store]:
    """A store on a server that all tests here share, each with files of its own."""
    with s3_server() as options:
        yield S3Store(storage_options(options))


def test_files_are_created_found_renamed_and_removed(store: S3Store) -> None:
    """The operations of a store: a file is created only where there is none, and all below a directory is removed."""
    root = f"{ROOT}/files"
    assert store.files(root) == []
    assert store.read(f"{root}/a/1.json") is None
    assert store.create(f"{root}/a/1.json", b"\x00one")
    assert not store.create(f"{root}/a/1.json", b"two")
    assert store.read(f"{root}/a/1.json") == b"\x00one"
    assert store.exists(f"{root}/a/1.json")
    assert store.exists(f"{root}/a")
    assert not store.exists(f"{root}/a/1")
    assert store.rename(f"{root}/a/1.json", f"{root}/date=2026-11-21/b")
    assert not store.rename(f"{root}/a/1.json", f"{root}/date=2026-11-21/b")
    assert store.files(root) == ["date=2026-11-21/b"]
    store.remove(f"{root}/date=2026-11-21")
    store.remove(f"{root}/not there")
    assert store.files(root) == []


def test_a_data_file_comes_to_its_place_whole(store: S3Store) -> None:
    """What a task wrote to a local file is there under its name, and the local file is gone."""
    path = f"{ROOT}/data/topic=a/1.parquet"
    scratch = store.scratch(path)
    Path(scratch).write_bytes(b"0123456789" * 1_000_000)
    store.keep(scratch, path)
    assert store.read(path) == b"0123456789" * 1_000_000
    assert not Path(scratch).exists()


def test_two_runs_at_once(store: S3Store) -> None:
    """Of two runs that commit the same batch one is refused, and the files of the other one are where readers look."""
    archive = f"{ROOT}/runs"
    runs = [Ledger(store, archive, "app", name) for name in ("old", "new")]
    batch, name = Batch(0, {A0: 0}, {A0: 2}), "topic=a/date=2026-11-21/part-0.zstd.parquet"
    for number, run in enumerate(runs):
        run.open()
        assert store.create(f"{run.place()[0]}/{name}", json.dumps(number).encode())
    runs[1].commit(batch, [DataFile(name)])
    with pytest.raises(PipelineError, match="another run archives to s3://archives/some/archive/runs under the same"):
        runs[0].commit(batch, [DataFile(name)])
    seen = [each for each in store.files(archive) if not each.startswith("_odradek/")]
    assert seen == ["topic=a/date=2026-11-21/app-0000000000-00000.zstd.parquet"]
    assert store.read(f"{archive}/{seen[0]}") == b"1"


def test_a_server_with_conditional_writes_passes(store: S3Store) -> None:
    """The check writes nothing that stays."""
    store.check(f"{ROOT}/checked")
    assert store.files(f"{ROOT}/checked") == []


class _WritesOver(BaseHTTPRequestHandler):
    """A server that takes every write and heeds no condition."""

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(b"", {"ETag": '"1"'})

    def do_GET(self) -> None:
        self._answer(b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>", {})

    def do_DELETE(self) -> None:
        self._answer(b"", {})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(b"<DeleteResult></DeleteResult>", {})

    def _answer(self, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(200)
        for name, value in ({"Content-Length": str(len(body))} | headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def test_a_server_that_writes_over_what_is_there_is_refused() -> None:
    """A server that ignores `If-None-Match` would let two runs write over each other."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _WritesOver)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        store = S3Store(storage_options({"endpoint": f"http://127.0.0.1:{server.server_port}", **KEYS}))
        with pytest.raises(PipelineError, match="writes over what is there although it is asked not to"):
            store.check(ROOT)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_mistakes_are_told(store: S3Store) -> None:
    """An unknown option, a path without a bucket and a bucket that is not there are named; keys are not shown."""
    with pytest.raises(WrongOptionError, match="--storage zone is unknown; there are endpoint, region, access-key-id"):
        storage_options({"zone": "x"})
    with pytest.raises(WrongOptionError, match="s3:///a names no bucket"):
        store.read("s3:///a")
    with pytest.raises(PipelineError, match="s3://nowhere/a: "):
        store.create("s3://nowhere/a", b"")
    assert "secret" not in repr(store)
