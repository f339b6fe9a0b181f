"""A look into the logs on this machine."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from odradek.console.settings import ConsoleSettings
from odradek.protocol.records.batch import Codec
from odradek.protocol.records.building import BatchFields, build_batch
from odradek.protocol.records.record import Record
from odradek.storage.files import PosixFiles
from odradek.storage.names import LOG_SUFFIX, file_name
from odradek.storage.producers.producer_state import AppendOrigin
from tests.support.console import ConsoleVisitor, no_cluster
from tests.support.log_samples import make_log_directory
from tests.support.logs import NOW_MS
from tests.support.logs import open_at as open_log_at
from tests.support.lookup_example import SEGMENTS, SOUGHT, make_example

HOSTILE = b"</pre><script>alert(1)</script>\x00\xff"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("logs")
    make_log_directory(PosixFiles(), str(home))
    make_example(home)
    return home


@pytest.fixture
def visitor(home: Path) -> ConsoleVisitor:
    return _visitor(home)


def _visitor(home: Path) -> ConsoleVisitor:
    return ConsoleVisitor(make=no_cluster, settings=ConsoleSettings("", log_dirs=[home]))


def _files(home: Path) -> Mapping[str, tuple[bytes, int]]:
    """Return the content and the time of the last change of every file."""
    return {
        str(each): (each.read_bytes() if each.is_file() else b"", each.stat().st_mtime_ns)
        for each in sorted(home.rglob("*"))
    }


def test_partitions_are_listed_and_found(visitor: ConsoleVisitor) -> None:
    """The list has every partition with its size, and a search narrows it."""
    page = visitor.get("/logs")
    assert "2 partitions" in page
    assert 'href="/logs/articles/0"' in page
    assert 'href="/logs/spool/0"' in page
    assert 'href="/logs/spool/0"' not in visitor.get("/logs?search=ARTIC")


def test_without_a_log_directory_there_is_no_such_page() -> None:
    """A console that was given none offers no page about logs, and serves none."""
    visitor = ConsoleVisitor(make=no_cluster)
    assert visitor.client.get("/logs").status_code == 404
    assert 'href="/logs"' not in visitor.client.get("/nowhere").text


def test_a_log_is_drawn_to_scale(visitor: ConsoleVisitor) -> None:
    """Each segment is a link as wide as its share of the bytes, and the page does not need the cluster."""
    page = visitor.get("/logs/articles/0")
    widths = re.findall(r'<a href="/logs/articles/0/\d+".*?width="([\d.]+)"', page)
    assert len(widths) == len(SEGMENTS)
    assert sum(map(float, widths)) == pytest.approx(1000, abs=0.1)
    assert "what goes next is not known" in page.lower()


@pytest.mark.parametrize("at", [str(SOUGHT), f"@{1_700_000_000_000 + SOUGHT * 1000}"])
def test_a_look_up_shows_each_step(visitor: ConsoleVisitor, at: str) -> None:
    """An offset and a time lead to the batch at byte 897, over the entry 3,497, in words and in a picture."""
    page = visitor.get(f"/logs/articles/0?at={at}")
    assert "entry 3,497" in page
    assert "-&gt; byte 897, after 4 batches" in page
    assert "went on from byte 497 to the batch at byte 897" in page
    assert 'href="/logs/articles/0/368769/897"' in page


@pytest.mark.parametrize(
    ("at", "told"), [("999999999", "the log ends before it"), ("nonsense", "no place"), ("end", "depends")]
)
def test_what_is_not_found_is_told(visitor: ConsoleVisitor, at: str, told: str) -> None:
    """An offset behind the end, and what is none, get a sentence on the same page."""
    response = visitor.client.get(f"/logs/articles/0?at={at}")
    assert response.status_code in (200, 400)
    assert told in response.text
    assert "Segments to scale" in response.text


def test_a_segment_lists_its_batches(visitor: ConsoleVisitor) -> None:
    """From a byte on the batches follow, beginning with the one that the byte belongs to."""
    page = visitor.get("/logs/articles/0/368769?byte=900")
    assert "Batches from byte 897 on" in page
    assert ">897</a>" in page
    assert ">797</a>" not in page
    assert "3 entries of the offset index" in page
    assert "o batch is found" in visitor.client.get("/logs/articles/0/368769?byte=99999").text


def test_a_batch_is_shown_to_the_byte(visitor: ConsoleVisitor) -> None:
    """Fields of header and record stand with the bytes of the file that they are made of."""
    page = visitor.get("/logs/articles/0/368769/897")
    for first, last, name in ((897, 904, "baseOffset"), (914, 917, "crc"), (954, 957, "recordsCount")):
        assert f'<td class="number">{first}–{last}</td><th scope="row">{name}</th>' in page
    assert "article 368776" in page
    assert '<span class="tag good">right</span>' in page
    assert 'href="/logs/articles/0/368769/797"' in page
    assert 'href="/logs/articles/0/368769/997"' in page


def test_a_byte_inside_a_batch_leads_to_the_batch(visitor: ConsoleVisitor) -> None:
    """The address of any byte goes on to the batch that has it."""
    response = visitor.client.get("/logs/articles/0/368769/950")
    assert (response.status_code, response.headers["location"]) == (303, "/logs/articles/0/368769/897")


@pytest.mark.parametrize(
    "path",
    [
        "/logs/nothing/0",
        "/logs/articles/1",
        "/logs/articles/-1",
        "/logs/articles/0x1",
        "/logs/articles/" + "9" * 5000,
        "/logs/..%2f..%2fetc/0",
        "/logs/%2e%2e/0",
        "/logs/articles/0/17",
        "/logs/articles/0/..%2f..",
        "/logs/articles/0/368769/99999999",
        "/logs/articles/0/368769/" + "9" * 30,
        "/logs/articles%00/0",
    ],
)
def test_names_lead_to_no_other_file(visitor: ConsoleVisitor, path: str) -> None:
    """What is no partition, segment or byte that is there gets a sentence and status 404."""
    response = visitor.client.get(path)
    assert response.status_code == 404
    assert "<h1>" in response.text


def test_a_look_changes_nothing(home: Path, visitor: ConsoleVisitor) -> None:
    """After every kind of page all files of the directory are as they were."""
    before = _files(home)
    for path in ("/logs", "/logs/spool/0?at=5", "/logs/spool/0", "/logs/spool/0/0", "/logs/spool/0/0/0"):
        visitor.get(path)
    assert _files(home) == before


@pytest.fixture
def hostile(tmp_path: Path) -> ConsoleVisitor:
    fs = PosixFiles()
    log = open_log_at(fs, directory=str(tmp_path / "hostile-0"))
    records = [Record(0, NOW_MS, HOSTILE, HOSTILE, ((HOSTILE, HOSTILE),))]
    log.append(memoryview(build_batch(records)), 0, NOW_MS, AppendOrigin.CLIENT)
    many = [Record(number, NOW_MS, b"k", b"v%d" % number) for number in range(60)]
    log.append(memoryview(build_batch(many, BatchFields(codec=Codec.ZSTD))), 0, NOW_MS, AppendOrigin.CLIENT)
    log.flush()
    log.close()
    (tmp_path / "meta.properties").write_text("")
    return _visitor(tmp_path)


def test_no_record_is_taken_for_markup(hostile: ConsoleVisitor) -> None:
    """Keys, values and headers that are markup are shown as text."""
    page = hostile.get("/logs/hostile/0/0/0")
    assert "alert(1)" in page
    assert "<script>alert" not in page


def test_a_damaged_batch_is_told(hostile: ConsoleVisitor, tmp_path: Path) -> None:
    """A wrong checksum stands beside what can still be read; records that cannot be read are told in a sentence."""
    path = tmp_path / "hostile-0" / file_name(0, LOG_SUFFIX)
    content = bytearray(path.read_bytes())
    content[61] = 0xFF
    path.write_bytes(content)
    page = hostile.get("/logs/hostile/0/0/0")
    assert '<span class="tag bad">wrong</span>' in page
    assert "cannot be read" in page


def test_records_of_a_compressed_batch_come_in_pages(hostile: ConsoleVisitor) -> None:
    """Of many records some are shown, with a link to the rest; bytes count from the first record on."""
    second = re.search(
        r'href="(/logs/hostile/0/0/\d+)" rel="next">The batch behind', hostile.get("/logs/hostile/0/0/0")
    )
    assert second is not None
    page = hostile.get(second[1])
    assert "They are compressed together" in page
    assert page.count('<details class="record"') == 25
    last = hostile.get(f"{second[1]}?record=50")
    assert last.count('<details class="record"') == 10
    assert "More records" not in last
