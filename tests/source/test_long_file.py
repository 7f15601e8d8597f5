"""Files that are read in blocks: the same numbers, the same faults, and memory that does not grow."""

from __future__ import annotations

import os
import tracemalloc
from collections import namedtuple
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import Take, join, read, write_take
from condyle.cli import main
from condyle.errors import CondyleError, UsageError
from condyle.io.formats import ReadOptions
from condyle.prepare.read import load
from condyle.simulate import Disturbances, linkage, simulate
from condyle.source import long_file as module
from condyle.source.long_file import read_long
from condyle.source.spool import Spool
from tests.make.long_files import count_as_long
from tests.make.size import cut_lengths

BODY = "{0}.px,{0}.py,{0}.pz,{0}.qw,{0}.qx,{0}.qy,{0}.qz"
HEAD = "# condyle take 1\n# frames: 3\n# length: m\n# quaternion: wxyz\n"
COLUMNS = "time," + BODY.format("hip") + "," + BODY.format("knee") + "\n"
ROWS = [f"{k / 10},1,2,{k},1,0,0,0,4,5,6.5,0.5,0.5,-0.5,0.5\n" for k in range(3)]
WHOLE = HEAD + COLUMNS + "".join(ROWS)
SMALL: dict[str, bytes] = {
    "whole": WHOLE.encode(),
    "no header": (COLUMNS + "".join(ROWS)).encode(),
    "no time": WHOLE.replace("time,", "")
    .replace("0.0,1,", "1,")
    .replace("0.1,1,", "1,")
    .replace("0.2,1,", "1,")
    .encode(),
    "segments, an empty pose": WHOLE.replace("time,", "segment,time,")
    .replace("0.0,1,", "0,0.0,1,")
    .replace("0.1,1,2,1,1,0,0,0,", "0,0.1,,,,,,,,")
    .replace("0.2,1,", "1,0.2,1,")
    .encode(),
}
CENTRES = 2e-4  # m between joints from a sample and from all frames, at 1 mm of noise
ROTATION = 1e-15  # of a matrix that was written as a quaternion
FLAT = 1.15  # of peak memory, for four times the file
NOISE = Disturbances(position_noise=0.001, orientation_noise=np.radians(0.1))

InBlocks = Callable[..., None]


@pytest.fixture
def in_blocks(monkeypatch: pytest.MonkeyPatch) -> InBlocks:
    """Lets every condyle CSV count as long, in blocks of so many bytes, with samples of so many frames."""

    def change(block: int = 2**16, frames: int = 10**6, head: int = 2**12) -> None:
        count_as_long(monkeypatch, block, frames, head)

    return change


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "take.csv"


def recording(seconds: float, rate: float = 60.0, seed: int = 5) -> Take:
    return simulate(linkage(), "exercise", seconds=seconds, rate=rate, seed=seed, disturbances=NOISE).take


def outcome(path: Path, **options: object) -> tuple[object, ...]:
    """What reading a file gives, as values to compare: numbers and what is told, or the fault and its place."""
    try:
        take = read(path, **options)
    except CondyleError as error:
        return error.code, error.line, error.column, error.frame, error.body, error.text
    segment = np.concatenate([[0], np.cumsum(np.diff(take.segment) != 0)])
    told = sorted((f.code, f.bodies, f.count, f.frame) for f in take.findings)
    arrays = (take.time, segment, take.p_world_body, take.R_world_body)
    return take.names, take.timed, told, *(array.tobytes() for array in arrays)


def both(path: Path, raw: bytes, in_blocks: InBlocks, block: int, head: int = 2**12, **options: object) -> None:
    """Asserts that a file gives the same whole and in blocks."""
    path.write_bytes(raw)
    with pytest.MonkeyPatch.context() as undone:
        undone.setattr(module, "LONG_BYTES", 2**40)
        whole = outcome(path, **options)
    in_blocks(block, head=head)
    assert outcome(path, **options) == whole


def head_of(raw: bytes) -> int:
    """Bytes above the first row of numbers."""
    return raw.index(b".qz\n", raw.rindex(b".px")) + 4


@pytest.mark.parametrize("block", [1, 7, 64, 4096])
@pytest.mark.parametrize("name", SMALL)
def test_a_file_in_blocks_is_the_same_file(path: Path, in_blocks: InBlocks, name: str, block: int) -> None:
    both(path, SMALL[name], in_blocks, block, head_of(SMALL[name]))


@pytest.mark.parametrize(
    "change",
    [
        lambda raw: raw.replace(b"\n", b"\r\n"),
        lambda raw: raw.replace(b"\n", b"\r"),
        lambda raw: b"\xef\xbb\xbf" + raw,
        lambda raw: raw + b"\n \n\n" * 50,
        lambda raw: raw.replace(b"0.1,1,2", b"\n\n0.1,1,2"),
        lambda raw: raw.replace(b",6.5,0.5,0.5,-0.5,0.5", b",6.5,0.5,0.5,-0.5,0.5,"),
        lambda raw: raw.replace(b"frames: 3", b"frames: 5"),
        lambda raw: raw.replace(b"frames: 3", b"frames: 2"),
        lambda raw: raw.replace(b"0.1,1,2", b"0.1,1,x"),
        lambda raw: raw.replace(b"0.1,1,2", b"0.1,1"),
        lambda raw: raw.replace(b"0.1,1,2", b"\n" * 300 + b"0.1,1,x"),
        lambda raw: raw.replace(b"0.1,1,2", b"0.1,1,x").replace(b"\n", b"\r\n"),
        lambda raw: raw.replace(b"0.2,1,2", b"0.2,1") + b"\n\n\n",
        lambda raw: raw.replace(b"0.1,", b","),
        lambda raw: raw.replace(b"0.1,", b"1e200,"),
        lambda raw: raw.replace(b"0.1,1,2,1,1,0,0,0", b"0.1,1,2,1,0,0,0,0"),
        lambda raw: raw.replace(b",1,0,0,0", b",9,0,0,0"),
        lambda raw: raw[: head_of(raw)],
        lambda raw: raw[: head_of(raw)] + b"\n\n\n",
    ],
)
@pytest.mark.parametrize("block", [1, 9, 100])
def test_oddities_and_faults_are_told_as_in_a_short_file(
    path: Path, in_blocks: InBlocks, change: Callable[[bytes], bytes], block: int
) -> None:
    raw = change(WHOLE.encode())
    both(path, raw, in_blocks, block, len(WHOLE) - 3 * 40)


@pytest.mark.sized
def test_a_file_cut_at_any_byte_is_told_as_a_short_one_is(path: Path, in_blocks: InBlocks) -> None:
    raw = WHOLE.encode()
    for size in cut_lengths(raw, head_of(raw)):
        both(path, raw[:size], in_blocks, 32, head_of(raw))


@pytest.mark.parametrize("options", [{"rate": 50.0}, {"unit": "mm"}, {"quaternion": "xyzw"}, {"up": "y"}])
def test_options_apply_in_blocks(path: Path, in_blocks: InBlocks, options: dict[str, object]) -> None:
    both(path, WHOLE.encode(), in_blocks, 16, head_of(WHOLE.encode()), **options)


def test_time_is_checked_over_the_borders_of_blocks(path: Path, in_blocks: InBlocks) -> None:
    row = ROWS[0][ROWS[0].index(",") :]
    even = (np.arange(40) / 10).tolist()
    for k in range(10, 22):
        for there in ([even[k]] * 2, [0.05], [50.0], [even[k], 0.05, 0.05, 90.0, 90.0]):
            times = even[: k + 1] + there + [there[-1] + one for one in even[1 : 40 - k]]
            rows = [f"{time:.2f}{row}" for time in times]
            raw = (HEAD.replace("# frames: 3\n", "") + COLUMNS + "".join(rows)).encode()
            both(path, raw, in_blocks, 12 * len(rows[0]), head_of(raw), doctor=False)


def test_a_block_of_nothing_but_repeated_stamps_adds_nothing(path: Path, in_blocks: InBlocks) -> None:
    rows = [f"{time}{ROWS[0][3:]}" for time in (0, 0.1, 0.1, 0.1, 0.1, 0.2, 0.2, 0.3)]
    raw = (HEAD.replace("frames: 3", "frames: 8") + COLUMNS + "".join(rows)).encode()
    for block in (1, 60, 110):
        both(path, raw, in_blocks, block, head_of(raw))


def test_the_spool_has_every_frame_as_it_was_written(path: Path, in_blocks: InBlocks) -> None:
    take = recording(20)
    take = take.mask(np.random.default_rng(0).random((take.frames, take.bodies)) < 0.05)
    write_take(path, take)
    in_blocks(frames=200)
    with closing(load([path], ReadOptions(), spool=True)) as loaded:
        (file,) = loaded.long
        assert file.frames == take.frames
        for start, stop in ((0, take.frames), (333, 777)):
            part = file.take(start, stop)
            np.testing.assert_array_equal(part.time, take.time[start:stop])
            np.testing.assert_array_equal(part.p_world_body, take.p_world_body[start:stop])
            np.testing.assert_allclose(part.R_world_body, take.R_world_body[start:stop], atol=ROTATION)
        np.testing.assert_array_equal(take.time[file.place], loaded.take.time)


def test_the_spool_leaves_out_repeated_stamps_and_knows_segments(path: Path, in_blocks: InBlocks) -> None:
    take = recording(20)
    time = take.time.copy()
    time[600:] += 50
    write_take(path, Take(take.names, time, take.R_world_body, take.p_world_body))
    lines = path.read_text().splitlines(keepends=True)
    head = next(k for k, line in enumerate(lines) if line.startswith("time,")) + 1
    lines = [line for line in lines if not line.startswith("# frames")]
    path.write_text("".join([*lines[: head + 300], *lines[head + 299 : head + 300] * 3, *lines[head + 300 :]]))
    in_blocks(frames=200)
    with closing(load([path], ReadOptions(), spool=True)) as loaded:
        part = loaded.long[0].take(0, 10**6)
        np.testing.assert_array_equal(part.time, time)
        np.testing.assert_array_equal(np.flatnonzero(np.diff(part.segment)), [599])


def test_a_spool_is_written_only_where_it_is_asked_for(
    path: Path, in_blocks: InBlocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_take(path, recording(10))
    in_blocks(frames=200)

    def refused(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(module, "Spool", refused)
    assert read(path).frames < 300
    with pytest.raises(AssertionError):
        load([path], ReadOptions(), spool=True)


def test_a_sample_is_made_of_even_stretches_of_neighbours(path: Path, in_blocks: InBlocks) -> None:
    take = recording(300)
    write_take(path, take)
    in_blocks(frames=6000)
    sample = read(path)
    begin = np.flatnonzero(np.diff(sample.segment, prepend=-1))
    length = np.diff(np.append(begin, sample.frames))
    assert 0.9 * 6000 < sample.frames <= 6000
    assert set(length.tolist()) == {60}  # a hundred stretches, however few the frames
    rows = np.searchsorted(take.time, sample.time)
    np.testing.assert_array_equal(take.p_world_body[rows], sample.p_world_body)
    apart = np.diff(sample.time[begin])
    assert apart.max() < 1.1 * apart.min()
    assert sample.time[-1] > 0.97 * take.time[-1]
    (told,) = (finding for finding in sample.findings if finding.code == "long-recording")
    assert (told.value, told.count, told.severity) == (sample.frames, take.frames, "info")


def test_rows_that_grow_short_do_not_burst_the_sample(path: Path, in_blocks: InBlocks) -> None:
    take = recording(100)
    hidden = np.zeros((take.frames, take.bodies), dtype=bool)
    hidden[take.frames // 10 :] = True
    write_take(path, take.mask(hidden))
    in_blocks(frames=1600)
    assert read_long(path, ReadOptions()).recording.frames <= 1600


def test_a_sample_gives_the_figure_of_all_frames(path: Path, in_blocks: InBlocks) -> None:
    take = recording(240)
    write_take(path, take)
    whole = condyle.fit(take).skeleton
    in_blocks(frames=7200)
    sampled = condyle.fit(read(path)).skeleton
    assert {(j.child, j.parent) for j in sampled.joints} == {(j.child, j.parent) for j in whole.joints}
    for joint in sampled.joints:
        assert np.linalg.norm(joint.p_child_joint - whole.joint(joint.child).p_child_joint) < CENTRES
        assert joint.covariance is not None


def test_memory_does_not_grow_with_the_file(tmp_path: Path, in_blocks: InBlocks) -> None:
    in_blocks(2**14, frames=800)
    take = recording(20)
    peaks = []
    for times in (2, 8):
        path = tmp_path / f"{times}.csv"
        write_take(path, join([take] * times))
        tracemalloc.start()
        with closing(load([path], ReadOptions(), spool=True)):
            pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < FLAT * peaks[0]


def test_zeros_in_most_of_a_block_are_dropouts_and_in_most_of_a_file_an_error(path: Path, in_blocks: InBlocks) -> None:
    head, row = WHOLE[: head_of(WHOLE.encode())].replace("# frames: 3\n", ""), WHOLE.splitlines()[5]
    rows = [f"{k / 10}{row[3:]}\n" for k in range(30)]
    spoilt = [line.replace(",1,0,0,0,", ",5,0,0,0,") for line in rows]
    in_blocks(100, head=len(head))
    path.write_text(head + "".join(rows[:12] + spoilt[12:20] + rows[20:]))
    (told,) = (finding for finding in read(path).findings if finding.code == "rotation-rejected")
    assert (told.bodies, told.frame, told.count) == (("hip",), 12, 8)
    path.write_text(head + "".join(rows[:10] + spoilt[10:]))
    with pytest.raises(CondyleError) as error:
        read(path)
    assert (error.value.code, error.value.frame, error.value.body) == ("not-rotations", 10, "hip")


def test_several_files_share_one_sample_and_short_ones_are_whole(tmp_path: Path, in_blocks: InBlocks) -> None:
    paths = [tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "c.npz"]
    takes = [recording(120, seed=seed) for seed in (1, 2, 3)]
    for file, take in zip(paths, takes, strict=True):
        write_take(file, take)
    in_blocks(frames=3200)
    loaded = load(paths, ReadOptions())
    a, b, c = (recorded.frames for recorded in loaded.recordings)
    assert 1400 < min(a, b) <= max(a, b) <= 1600
    assert c == takes[2].frames
    assert loaded.take.frames == a + b + c
    assert loaded.long == ()
    with closing(load(paths, ReadOptions(), spool=True)) as loaded:
        assert [file.frames for file in loaded.long] == [takes[0].frames, takes[1].frames]
        assert [file.first for file in loaded.long] == [0, a]


def test_what_cannot_be_read_in_blocks_is_refused(tmp_path: Path, in_blocks: InBlocks) -> None:
    in_blocks(frames=900)
    wide, one, two = tmp_path / "wide.csv", tmp_path / "one.csv", tmp_path / "two.csv"
    wide.write_bytes(WHOLE.encode("utf-16"))
    take = recording(5)
    write_take(one, take.select(take.names[:1]))
    write_take(two, take.select(take.names[1:2]))
    for files in ([wide], [one, two]):
        with pytest.raises(CondyleError) as error:
            read(files)
        assert error.value.code == "file-too-large"
        assert error.value.path == str(files[0])
    with pytest.raises(UsageError, match="option 'bodies' is for markers"):
        read(one, bodies={"hip": ["LASI", "RASI", "SACR"]})


def test_a_line_without_end_is_refused_before_it_fills_memory(path: Path, in_blocks: InBlocks) -> None:
    in_blocks(64, head=head_of(WHOLE.encode()))
    path.write_bytes(WHOLE.encode() + b"1," * 5000)
    with pytest.raises(CondyleError) as error:
        read(path)
    assert (error.value.code, error.value.line) == ("ragged-row", 9)


def test_only_large_files_of_the_format_are_read_in_blocks(path: Path, tmp_path: Path, in_blocks: InBlocks) -> None:
    take = recording(5)
    write_take(path, take)
    write_take(tmp_path / "take.npz", take)
    assert not module.is_long(path, ReadOptions())
    in_blocks()
    assert module.is_long(path, ReadOptions())
    assert not module.is_long(tmp_path / "take.npz", ReadOptions())
    assert not module.is_long(tmp_path / "none.csv", ReadOptions())


def test_progress_runs_from_block_to_block_to_the_end(path: Path, in_blocks: InBlocks) -> None:
    write_take(path, recording(10))
    in_blocks()
    told: list[tuple[str, int, int]] = []
    read_long(path, ReadOptions(), lambda *words: told.append(words))
    size = path.stat().st_size
    done = [one[1] for one in told]
    assert len(done) > 5
    assert done == sorted(done)
    assert done[-1] == size
    assert {(one[0], one[2]) for one in told} == {(f"reading {path}", size)}


def test_fit_tells_of_the_sample_and_where_the_file_differs_from_it(
    path: Path, tmp_path: Path, in_blocks: InBlocks, capsys: pytest.CaptureFixture[str]
) -> None:
    take = recording(240)
    write_take(path, take)
    in_blocks(frames=3200)
    used = read(path)
    assert main(["fit", str(path), "--no-intervals"]) == 0
    assert "[long-recording]" in capsys.readouterr().out
    rows = np.flatnonzero((take.time > 100) & (take.time < 110) & ~np.isin(take.time, used.time))
    p = take.p_world_body.copy()
    p[rows, take.index("l_forearm")] += 0.2
    write_take(path, Take(take.names, take.time, take.R_world_body, p))
    assert main(["fit", str(path), "--no-intervals"]) == 3
    captured = capsys.readouterr()
    (line,) = (line for line in captured.out.splitlines() if "sample-differs" in line)
    assert "l_forearm" in line
    assert captured.err == ""


@pytest.fixture
def spools(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[Spool]]:
    """The folder that spools are written to, and those that were."""
    folder = tmp_path_factory.mktemp("spools")
    monkeypatch.setenv("TMPDIR", str(folder))
    made: list[Spool] = []

    def noted(width: int, expected: int) -> Spool:
        made.append(Spool(width, expected))
        return made[-1]

    monkeypatch.setattr(module, "Spool", noted)
    return folder, made


@pytest.mark.parametrize("when", ["never", "while reading", "in the fit", "in a sweep"])
@pytest.mark.parametrize(
    "what", [KeyboardInterrupt, CondyleError("broken", code="no-data")], ids=["interrupt", "error"]
)
def test_nothing_is_left_of_a_spool_whatever_ends_a_fit(
    path: Path,
    tmp_path: Path,
    in_blocks: InBlocks,
    monkeypatch: pytest.MonkeyPatch,
    spools: tuple[Path, list[Spool]],
    when: str,
    what: BaseException | type[BaseException],
) -> None:
    write_take(path, recording(20))
    in_blocks(frames=300)

    def end(*_: object, **__: object) -> None:
        raise what

    def bar(_: object, name: str, done: int, total: int) -> None:
        if name.startswith("reading") and when == "while reading" and done > total / 2:
            end()
        if name.startswith("sweep") and when == "in a sweep":
            end()

    monkeypatch.setattr("condyle.cli.progress.ProgressBar.__call__", bar)
    if when == "in the fit":
        monkeypatch.setattr("condyle.pipeline.fit_tree", end)
    before = sorted(tmp_path.iterdir())
    status = main(["fit", str(path), "--no-intervals", "--no-report", "-o", str(tmp_path / "out")])
    folder, made = spools
    assert [spool.closed for spool in made] == [True]
    assert list(folder.iterdir()) == []
    if when == "never":
        assert status == 0
        names = ["manifest.json", "motion.npz", "options.toml", "skeleton.json"]
        assert sorted(os.listdir(tmp_path / "out")) == names
    else:
        assert status == (130 if what is KeyboardInterrupt else 1)
        assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("broken", ["short file", "convention"])
def test_nothing_is_left_of_a_spool_where_loading_fails(
    path: Path,
    tmp_path: Path,
    in_blocks: InBlocks,
    monkeypatch: pytest.MonkeyPatch,
    spools: tuple[Path, list[Spool]],
    broken: str,
) -> None:
    write_take(path, recording(20))
    in_blocks(frames=300)
    files = [path]
    if broken == "short file":
        files.append(tmp_path / "none.csv")
    else:

        def unsure(*_: object) -> None:
            raise CondyleError("two ways", code="ambiguous-convention")

        monkeypatch.setattr("condyle.prepare.read.apply_diagnosis", unsure)
    with pytest.raises(CondyleError):
        load(files, ReadOptions(), spool=True)
    assert [spool.closed for spool in spools[1]] == [True]


def test_a_disk_without_room_is_told_in_one_sentence(
    path: Path,
    tmp_path: Path,
    in_blocks: InBlocks,
    monkeypatch: pytest.MonkeyPatch,
    spools: tuple[Path, list[Spool]],
    capsys: pytest.CaptureFixture[str],
) -> None:
    take = recording(20)
    write_take(path, take)
    in_blocks(frames=300)
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage(10**9, 10**9, 100))
    before = sorted(tmp_path.iterdir())
    assert main(["fit", str(path), "-o", str(tmp_path / "out")]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert f"{path}: a temporary copy of its numbers needs 0.000" in line
    assert f"in {spools[0]}, where 1e-07 GB are free; set TMPDIR to a folder with that much room" in line
    assert sorted(tmp_path.iterdir()) == before


def test_room_is_asked_for_as_much_as_all_frames_will_need(
    path: Path, in_blocks: InBlocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = recording(60)
    write_take(path, take)
    in_blocks(frames=300)
    asked: list[int] = []

    def noted(width: int, expected: int) -> Spool:
        asked.append(expected)
        return Spool(width, expected)

    monkeypatch.setattr(module, "Spool", noted)
    load([path], ReadOptions(), spool=True).close()
    assert asked == [pytest.approx(take.frames, rel=0.02)]
