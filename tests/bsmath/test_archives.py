"""Archives: what comes out, what is left out and said, what is refused; each built in memory."""

import gzip
import io
import stat
import struct
import tarfile
import zipfile
import zlib

import numpy as np
import pytest

from bsmath import archives
from bsmath.sweeps import SweepError

TABLE = b"batch_tokens,step_time_s\n1024,1\n2048,1.5\n"
NOISE = np.random.default_rng(0).bytes(1_100_000)


def zipped(content: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED, **fields) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, data in content.items():
            entry = zipfile.ZipInfo(name)
            for field, value in fields.items():
                setattr(entry, field, value)
            archive.writestr(entry, data, compress_type=method)
    return out.getvalue()


def names(data: bytes) -> list[str]:
    return [name for name, _ in archives.files(data, "runs.zip").files]


def refused(data: bytes, name: str = "runs.zip") -> str:
    with pytest.raises(SweepError) as error:
        archives.files(data, name)
    said = str(error.value)
    assert said.startswith(f"{name} must ") and ", got " in said and len(said) < 300 and "\n" not in said
    return said


@pytest.mark.parametrize("data", [TABLE, b"", b"PK", b"\x89PNG", b"PAR1"])
def test_what_is_no_archive_comes_back_as_it_is_whatever_its_name(data):
    found = archives.files(data, "a.zip")
    assert list(found) == [("a.zip", data)] and found.files[0][1] is data and not found.notes


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_the_files_of_a_zip_come_in_its_order_whatever_its_name(method):
    found = archives.files(zipped({"b.csv": TABLE, "a/x.log": b"step 1\n" * 9}, method), "photo.png")
    assert found.files == (("b.csv", TABLE), ("x.log", b"step 1\n" * 9)) and not found.notes


def test_a_gzip_file_loses_its_ending_and_its_parts_are_joined():
    members = gzip.compress(b"one\n") + gzip.compress(b"") + gzip.compress(b"two\n")
    assert list(archives.files(members, "train.LOG.GZ")) == [("train.LOG", b"one\ntwo\n")]
    assert list(archives.files(members + b"\0" * 512, "log")) == [("log", b"one\ntwo\n")]
    assert list(archives.files(gzip.compress(b"x"), ".gz")) == [(".gz", b"x")]


def test_a_large_gzip_file_comes_out_whole():
    data = NOISE * 3 + bytes(1000)
    assert list(archives.files(gzip.compress(data, 1), "noise.gz")) == [("noise", data)]


def test_names_lose_their_folders_and_control_characters_and_are_cut():
    given = ["../../etc/passwd", "C:\\Users\\me\\a.csv", "/b.csv", "x\x1b[31m\n\u202ey.csv", "n" * 500 + ".csv"]
    assert names(zipped(dict.fromkeys(given, TABLE))) == ["passwd", "a.csv", "b.csv", "x[31my.csv", "n" * 76 + ".csv"]


def test_files_of_one_name_are_told_apart_by_as_many_folders_as_it_takes():
    given = ["out/b64/version_0/metrics.csv", "out/b128/version_0/metrics.csv", "out/b128/notes.csv", "../metrics.csv"]
    found = names(zipped(dict.fromkeys(given, TABLE)))
    assert found == ["b64/version_0/metrics.csv", "b128/version_0/metrics.csv", "notes.csv", "metrics.csv"]


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_one_path_twice_is_numbered_and_no_file_is_lost():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a/x.csv", b"1")
        archive.writestr("a/x.csv", b"2")
        archive.writestr("./", b"")
    assert list(archives.files(out.getvalue(), "z")) == [("a/x.csv", b"1"), ("a/x.csv (2)", b"2")]


def test_what_is_left_out_is_said_by_reason():
    data = zipped({"a.csv": TABLE, "__MACOSX/._a.csv": b"x", ".git/config": b"x", "x/": b"", "old.zip": b"x", "m.pt": b"x", "k.csv": gzip.compress(b"x")})  # fmt: skip
    found = archives.files(data, "runs.zip")
    assert list(found) == [("a.csv", TABLE)]
    assert found.notes == (
        "runs.zip: 2 files (._a.csv, config) left out (hidden).",
        "runs.zip: 2 files (old.zip, k.csv) left out (an archive within an archive, unpack it first).",
        "runs.zip: 1 file (m.pt) left out (may be a pickle, which is never opened).",
    )


def test_links_are_not_followed_and_folders_are_no_files():
    link = zipped({"a.csv": b"/etc/passwd"}, create_system=3, external_attr=(stat.S_IFLNK | 0o777) << 16)
    assert "only 1 file (a.csv) (a link)" in refused(link)
    assert "none" in refused(zipped({"a": b""}, external_attr=(stat.S_IFDIR | 0o755) << 16))


def test_encrypted_files_are_left_out():
    data = bytearray(zipped({"a.csv": TABLE}))
    data[6] |= 1
    data[data.rfind(b"PK\x01\x02") + 8] |= 1
    assert "only 1 file (a.csv) (encrypted)" in refused(bytes(data))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_methods_that_unpack_without_a_limit_are_left_alone(method):
    assert "packed by a method other than deflate" in refused(zipped({"a.csv": bytes(50_000_000)}, method))


@pytest.mark.parametrize(
    "content, said",
    [
        ({"[Content_Types].xml": b"<x/>", "xl/workbook.xml": b"<x/>"}, "save it as CSV"),
        ({"mimetype": b"application/vnd.oasis.opendocument.spreadsheet", "content.xml": b""}, "save it as CSV"),
        ({"archive/data.pkl": b"\x80\x02.", "archive/version": b"3"}, "PyTorch file.*never opened"),
        ({"arr_0.npy": b"\x93NUMPY", "arr_1.npy": b"\x93NUMPY"}, "NumPy arrays.*never opened"),
        ({}, "got none"),
        ({"inner.zip": b"PK"}, "an archive within an archive"),
        ({"innocent.csv": zipped({"a.csv": TABLE})}, "an archive within an archive"),
    ],
)
def test_a_zip_of_something_else_is_refused_with_its_reason(content, said):
    with pytest.raises(SweepError, match=said):
        archives.files(zipped(content), "f.csv")


def test_numpy_and_torch_files_are_refused_unread():
    out = io.BytesIO()
    np.savez(out, a=np.array([object()], dtype=object))
    assert "never opened" in refused(out.getvalue(), "sweep.npz")


def test_archives_in_a_gzip_file_are_refused():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("a.csv"), io.BytesIO(b""))
    for data in (out.getvalue(), gzip.compress(gzip.compress(TABLE)), gzip.compress(zipped({"a.csv": TABLE}))):
        assert "an archive within an archive" in refused(data, "a.gz")


def test_two_hundred_files_are_read_and_one_more_is_not():
    given = {f"{place}.csv": TABLE for place in range(archives.MAX_FILES)}
    assert len(names(zipped(given | {f"x{place}/": b"" for place in range(50)}))) == 200
    assert "at most 200 files, got 201" in refused(zipped(given | {"one_more.csv": TABLE}))


def test_a_good_ratio_is_read_and_a_bomb_is_not():
    repetitive = b"".join(b"step %d | loss %.4f | lr 3e-4\n" % (step, 9 / step) for step in range(1, 60_000))
    assert list(archives.files(zipped({"a.log": repetitive}), "z")) == [("a.log", repetitive)]
    assert list(archives.files(gzip.compress(bytes(900_000)), "z")) == [("z", bytes(900_000))]
    assert "200 times its size" in refused(zipped({"a.log": TABLE, "zeros.csv": bytes(30_000_000)}))
    assert "200 times its size" in refused(gzip.compress(bytes(30_000_000)), "zeros.csv.gz")


def lying(data: bytes, size: int, everywhere: bool = True) -> bytes:
    """A zip of one file whose headers state this size."""
    data = bytearray(data)
    struct.pack_into("<L", data, data.rfind(b"PK\x01\x02") + 24, size)
    if everywhere:
        struct.pack_into("<L", data, 22, size)
    return bytes(data)


def test_a_stated_size_above_the_limit_is_refused_before_anything_is_unpacked():
    assert "at most 200 MB, got 300 MB" in refused(lying(zipped({"a": NOISE}), 300_000_000))


@pytest.mark.parametrize("everywhere", [True, False])
@pytest.mark.parametrize("size", [0, 10, 100_000_000])
def test_headers_that_lie_about_the_size_do_not_let_a_bomb_through(size, everywhere):
    assert refused(lying(zipped({"a": bytes(50_000_000)}), size, everywhere))


def test_what_comes_out_is_counted_while_it_does(monkeypatch):
    monkeypatch.setattr(archives, "MAX_BYTES", 2_000_000)
    monkeypatch.setattr(archives.text, "MAX_BYTES", 2_000_000)
    assert "got more" in refused(gzip.compress(NOISE[:700_000] * 2 + bytes(1_000_000)), "a.gz")
    assert "got 2.2 MB" in refused(
        zipped({"a": NOISE[:900_000] + bytes(200_000), "b": NOISE[:900_000] + bytes(200_000)})
    )
    assert "at most 2 MB, got 3.30" in refused(zipped({"a": NOISE * 3}, zipfile.ZIP_STORED))


def overlapping(count: int) -> bytes:
    """A directory in which one file stands under many names."""
    body = zlib.compress(TABLE * 100, 9)[2:-4]
    fields = (20, 0, 8, 0, 33, zlib.crc32(TABLE * 100), len(body), len(TABLE * 100), 5, 0)
    whole = b"PK\x03\x04" + struct.pack("<5H3L2H", *fields) + b"a.csv" + body
    entry = b"PK\x01\x02" + struct.pack("<6H3L5H2L", 20, *fields, 0, 0, 0, 0, 0) + b"a.csv"
    end = struct.pack("<4H2LH", 0, 0, count, count, len(entry) * count, len(whole), 0)
    return whole + entry * count + b"PK\x05\x06" + end


def test_files_that_share_their_bytes_are_refused():
    assert names(overlapping(1)) == ["a.csv"]
    assert "share their bytes" in refused(overlapping(2))
    assert "at most 200 files, got 5,000" in refused(overlapping(5_000))
    assert "its directory is too long" in refused(overlapping(60_000))


def test_a_wrong_checksum_is_refused():
    data = bytearray(zipped({"a.csv": TABLE}, zipfile.ZIP_STORED))
    data[40] ^= 1
    assert "damaged" in refused(bytes(data))
    packed = bytearray(gzip.compress(TABLE))
    packed[-8] ^= 1
    assert "damaged" in refused(bytes(packed), "a.gz")


@pytest.mark.parametrize("whole", [zipped({"a.csv": TABLE, "b/é.log": TABLE * 9}), gzip.compress(TABLE * 9)])
def test_an_archive_cut_or_changed_at_any_byte_is_read_or_refused(whole):
    for place in range(len(whole)):
        for data in (whole[:place], whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :]):
            try:
                archives.files(data, "a")
            except SweepError:
                pass


def test_endless_parts_and_other_text_behind_a_gzip_file_are_refused():
    assert "at most 20,000 parts" in refused(gzip.compress(b"") * 20_001, "a.gz")
    assert "damaged" in refused(gzip.compress(TABLE) + b"more", "a.gz")


class Stopped(ValueError):
    pass


@pytest.mark.parametrize("data", [zipped({"a": NOISE, "b": NOISE}), gzip.compress(NOISE * 2)])
def test_progress_grows_to_one_and_may_stop_the_unpacking(data):
    seen = []
    archives.files(data, "a", seen.append)
    assert len(seen) > 5 and seen == sorted(seen) and 0 < seen[0] < 0.3 and seen[-1] == 1

    def stop(share):
        raise Stopped

    with pytest.raises(Stopped):
        archives.files(data, "a", stop)
