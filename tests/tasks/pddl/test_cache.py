from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from misstep.tasks.pddl.cache import TranslationCache, cache_key, default_folder

DATA = b"begin_version\n3\nend_version\n"
KEY = cache_key(b"domain", b"problem")


@pytest.fixture
def cache(tmp_path: Path) -> TranslationCache:
    return TranslationCache(tmp_path / "cache")


def entry_of(cache: TranslationCache) -> Path:
    assert cache.folder is not None
    (entry,) = cache.folder.iterdir()
    return entry


def test_keys_depend_on_every_part_and_its_borders() -> None:
    keys = [cache_key(b"ab", b"c"), cache_key(b"a", b"bc"), cache_key(b"abc"), cache_key()]
    assert len(set(keys)) == 4
    assert cache_key(b"ab", b"c") == keys[0]


def test_store_and_fetch(cache: TranslationCache) -> None:
    assert cache.get(KEY) is None
    assert cache.put(KEY, DATA)
    assert cache.get(KEY) == DATA
    assert cache.get(cache_key(b"other")) is None


@pytest.mark.parametrize("data", [b"", b"\n", bytes(range(256)) * 50])
def test_any_content(cache: TranslationCache, data: bytes) -> None:
    cache.put(KEY, data)
    assert cache.get(KEY) == data


def test_every_truncation_is_noticed_and_removed(cache: TranslationCache) -> None:
    cache.put(KEY, DATA)
    path = entry_of(cache)
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert cache.get(KEY) is None, length
        assert not path.exists()
    assert cache.put(KEY, DATA)
    assert cache.get(KEY) == DATA


def test_every_flipped_byte_is_noticed(cache: TranslationCache) -> None:
    cache.put(KEY, DATA)
    path = entry_of(cache)
    whole = path.read_bytes()
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 0x20
        path.write_bytes(damaged)
        assert cache.get(KEY) is None, position


def test_added_bytes_are_noticed(cache: TranslationCache) -> None:
    cache.put(KEY, DATA)
    path = entry_of(cache)
    path.write_bytes(path.read_bytes() + b"\0")
    assert cache.get(KEY) is None


def test_unusable_folders_are_silent(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/nowhere")):
        cache = TranslationCache(folder)
        assert not cache.put(KEY, DATA)
        assert cache.get(KEY) is None
        assert cache.clear() == 0
        assert cache.size() == 0


def test_full_disk_is_silent_and_leaves_nothing(
    cache: TranslationCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert not cache.put(KEY, DATA)
    assert cache.folder is not None
    assert list(cache.folder.iterdir()) == []


def test_least_recently_used_go_first(tmp_path: Path) -> None:
    cache = TranslationCache(tmp_path, max_bytes=400)
    keys = [cache_key(bytes([number])) for number in range(4)]
    for age, key in zip((30, 20, 10), keys, strict=False):
        cache.put(key, DATA)
        moment = time.time() - age
        os.utime(tmp_path / f"{key}.sasz", (moment, moment))
    assert cache.get(keys[0]) == DATA  # Now the second is the oldest.
    cache.max_bytes = cache.size()
    cache.put(keys[3], DATA)
    assert [cache.get(key) is not None for key in keys] == [True, False, True, True]
    assert cache.size() <= cache.max_bytes


def test_entry_larger_than_the_bound_is_not_stored(tmp_path: Path) -> None:
    cache = TranslationCache(tmp_path, max_bytes=10)
    assert not cache.put(KEY, DATA)
    assert list(tmp_path.iterdir()) == []


def test_clear_removes_entries_only(tmp_path: Path) -> None:
    cache = TranslationCache(tmp_path)
    cache.put(KEY, DATA)
    (tmp_path / "mine.txt").write_text("keep")
    (tmp_path / ".unfinished-x").write_text("")
    assert cache.clear() == 1
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_what_killed_writers_left_is_removed_when_old(tmp_path: Path) -> None:
    cache = TranslationCache(tmp_path)
    old, young = tmp_path / ".unfinished-old", tmp_path / ".unfinished-young"
    old.write_text("")
    young.write_text("")
    os.utime(old, (1, 1))
    cache.put(KEY, DATA)
    assert not old.exists()
    assert young.exists()


def test_default_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MISSTEP_CACHE_DIR", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert default_folder() == tmp_path / "home/.cache/misstep/translations"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_folder() == tmp_path / "home/.cache/misstep/translations"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_folder() == tmp_path / "xdg/misstep/translations"
    monkeypatch.setenv("MISSTEP_CACHE_DIR", str(tmp_path / "own"))
    assert default_folder() == tmp_path / "own/translations"


def test_concurrent_processes(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from misstep.tasks.pddl.cache import TranslationCache, cache_key
cache = TranslationCache(Path(sys.argv[1]), max_bytes=2000)
for number in range(150):
    key = cache_key(bytes([number % 20]))
    data = bytes([number % 20]) * 1000
    assert cache.get(key) in (None, data)
    assert cache.put(key, data)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", program, str(tmp_path)]
    processes = [subprocess.Popen(command, env=environment) for _ in range(3)]
    assert [process.wait(timeout=30) for process in processes] == [0, 0, 0]
    assert not list(tmp_path.glob(".unfinished-*"))


def test_what_is_not_a_file_is_no_entry(cache: TranslationCache) -> None:
    """Opening a pipe that nobody writes to would wait forever."""
    cache.put(KEY, DATA)
    path = entry_of(cache)
    path.unlink()
    os.mkfifo(path)
    assert cache.get(KEY) is None
