"""Read files that a user named, and write files that survive a crash.

Links in a path that the user named are followed. Links *inside* a folder that Misstep wrote are refused
(`refuse_link`, `open_inside`): the folder may come from a stranger, and a link would make us overwrite or read any
other file of the user. Hard links are refused too, because they are another name of a file that may lie anywhere.
"""

from __future__ import annotations

import errno
import os
import stat
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from misstep.errors import InputFileError, InputFormatError

_PIECE = 2**20
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")  # begins a rollback journal of SQLite
# Clearer words for some errors of the operating system.
_REASONS = {
    errno.ENOLCK: "this file system supports no locks (a network disk without a lock service?)",
    errno.EMFILE: "this process has too many open files (ulimit -n)",
    errno.ENFILE: "the system has too many open files",
    errno.ENAMETOOLONG: "the name is too long for this file system",
    errno.EROFS: "the disk is read-only",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the quota of the disk is used up",
    errno.ELOOP: "this is a symbolic link, or links lead round in a circle",
}


def reason(error: OSError) -> str:
    """The reason of an error of the operating system, in words that help the user."""
    return _REASONS.get(error.errno or 0) or error.strerror or str(error)


def is_of_current_folder(error: OSError) -> bool:
    """Whether it says that somebody has removed the folder that we are in, which is the only one without a name."""
    return error.errno == errno.ENOENT and error.filename is None


def of_system(error: OSError) -> InputFileError:
    """An error of the operating system that nobody has put into words where it was raised."""
    if is_of_current_folder(error):
        return InputFileError(
            "the current folder does not exist any more", hint="change to another folder"
        )
    if error.filename is None:  # the error is about a stream, or the disk is full
        return InputFileError(f"cannot write: {reason(error)}")
    return InputFileError(reason(error), where=str(error.filename))


def refuse_link(path: Path, *, only_read: bool = False) -> None:
    """Raise an error if the path is a symbolic link, or a file with further hard links.

    A file that is only read may have hard links: backups use them to share unchanged files.
    """
    try:
        _refuse_link(os.lstat(path), path, only_read)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise InputFileError(f"cannot read: {reason(error)}", where=str(path)) from error


def open_inside(path: Path, flags: int) -> int:
    """Open a file inside a folder of Misstep without following links; the flags are those of `os.open`."""
    try:
        # Opening a pipe that nobody reads would otherwise wait forever.
        handle = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o666)
        try:
            _refuse_link(os.fstat(handle), path)
        except BaseException:
            os.close(handle)
            raise
    except OSError as error:
        if error.errno == errno.ELOOP:
            refuse_link(path)
        raise
    return handle


def _refuse_link(found: os.stat_result, path: Path, only_read: bool = False) -> None:
    if stat.S_ISLNK(found.st_mode):
        what = "this is a symbolic link, which is not followed here"
    elif not stat.S_ISREG(found.st_mode):
        what = "this is not a regular file"
    elif found.st_nlink > 1 and not only_read:
        what = "this file has another name elsewhere (a hard link), which would change with it"
    else:
        return
    raise InputFileError(
        what, where=str(path), expected="a file of its own", hint="put a copy of it in its place"
    )


def refuse_linked_folders(folder: Path, names: Iterable[str]) -> None:
    """Raise an error if a folder inside a folder of Misstep, such as `work` or `work/1.0`, is a symbolic link."""
    for name in names:
        if (folder / name).is_symlink():
            raise InputFileError(
                "this is a symbolic link, which is not followed here",
                where=str(folder / name),
                expected="a folder of its own",
                hint="put a copy of it in its place",
            )


def check_beside(database: Path) -> None:
    """Raise an error if SQLite would reach other files by those that lie beside a database.

    It writes to these even for reading, so they may not be links. A rollback journal may also name a further file, if
    a transaction spans several databases. Ours never do, and SQLite deletes the named file when it rolls the journal
    back: a forged journal could delete any file of the user.
    """
    beside = [database.with_name(database.name + end) for end in ("-wal", "-shm", "-journal")]
    for path in beside:
        refuse_link(path)
    try:
        with os.fdopen(open_inside(beside[-1], os.O_RDONLY), "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - len(_JOURNAL_MAGIC)))
            names = file.read() == _JOURNAL_MAGIC
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputFileError(f"cannot read: {reason(error)}", where=str(beside[-1])) from error
    if names:
        raise InputFormatError(
            "this journal names another file, which SQLite would delete",
            where=str(beside[-1]),
            expected="a journal of this database alone",
        )


def write_inside(path: Path, content: bytes) -> None:
    """Write a new file inside a folder of Misstep. An existing file or link there is replaced, not followed."""
    path.unlink(missing_ok=True)
    handle = open_inside(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(handle)


def is_there(path: Path) -> bool:
    """Whether there is such a file or folder. `Path.exists` raises an error for names that none can have."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def not_waiting(path: str, flags: int) -> int:
    """An opener for `open`: a pipe, or a file of the system such as /proc/kmsg, would let us wait forever."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def not_following(path: str, flags: int) -> int:
    """The same for a file inside a folder of Misstep, which may be no symbolic link."""
    return not_waiting(path, flags | os.O_NOFOLLOW)


def read_bytes(path: Path, max_bytes: int, kind: str, *, follow: bool = True) -> bytes:
    """The content of a file, or an error of one line. `kind` says what kind of file was expected.

    `follow` is False for a file inside a folder of Misstep, which may be no symbolic link.
    """
    name = str(path)
    try:
        # Check before opening, because opening a device may do something, and after it, because another process may
        # have put something else in its place.
        _refuse_strange(path.stat(follow_symlinks=follow), path, kind)
        with open(path, "rb", opener=not_waiting if follow else not_following) as file:
            _refuse_strange(os.fstat(file.fileno()), path, kind)
            content = bytearray()
            # Read in pieces: for one large read Python allocates all the memory at once.
            while len(content) <= max_bytes and (piece := file.read(_PIECE)):
                content += piece
    except FileNotFoundError as error:
        raise InputFileError("no such file", where=name, hint="check the path") from error
    except PermissionError as error:
        raise InputFileError(
            "no permission to read this file", where=name, hint="change its permissions"
        ) from error
    except ValueError as error:  # A null character in the path.
        raise InputFileError(f"not a path: {error}", where=repr(name)) from error
    except OSError as error:
        if error.errno == errno.ELOOP and follow:
            raise InputFileError("symbolic links in a circle", where=name) from error
        raise InputFileError(f"cannot read: {reason(error)}", where=name) from error
    if len(content) > max_bytes:
        raise InputFileError(
            f"the file is larger than {max_bytes / 2**20:.0f} MiB",
            where=name,
            expected=f"{kind} of usual size",
            hint="is this the right file?",
        )
    return bytes(content)


def decoded(content: bytes, where: str, expected: str | None = None) -> str:
    """The text of a file, or an error that names the line with the first byte that is none."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputFormatError(
            "not UTF-8 text", where=f"{where}:{line}", expected=expected
        ) from None


def _refuse_strange(found: os.stat_result, path: Path, kind: str) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise InputFileError("this is a folder", where=str(path), expected=kind)
    if stat.S_ISLNK(found.st_mode):
        _refuse_link(found, path)
    if not stat.S_ISREG(found.st_mode):
        raise InputFileError("this is not a regular file", where=str(path), expected=kind)


def write_bytes(path: Path, content: bytes, *, follow: bool = True) -> None:
    """Write a file atomically: after a crash, a kill or on a full disk, either the old or the new file is there.

    Only regular files are replaced. A device is refused, and a symbolic link is followed; inside a folder of Misstep
    (`follow` is False) the link itself is replaced.
    """
    write_all({path: content}, follow=follow)


def write_all(contents: Mapping[Path, bytes], *, follow: bool = True) -> None:
    """The same for several files: on a full disk none is replaced, and no new one is left behind."""
    staged: list[tuple[Path, Path]] = []
    created: list[Path] = []
    name = ""
    try:
        # All contents are on the disk before the first file gets its name.
        for path, content in contents.items():
            name = str(path)
            target = _to_replace(path, follow)
            temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
            staged.append((temporary, target))
            with temporary.open("xb") as file:
                file.write(content)
        for temporary, target in staged:
            name, is_new = str(target), not os.path.lexists(target)
            temporary.replace(target)
            if is_new:
                created.append(target)
    except BaseException as error:
        for leftover in (*(temporary for temporary, _ in staged), *created):
            with suppress(OSError):
                leftover.unlink()
        if isinstance(error, ValueError):  # A null character in the path.
            raise InputFileError(f"not a path: {error}", where=repr(name)) from error
        if isinstance(error, OSError):
            raise InputFileError(f"cannot write: {reason(error)}", where=name) from error
        raise


def holds(path: Path, content: bytes) -> bool:
    """Whether this is what the file has already. One of another size is not read. Refuses what is no regular file."""
    try:
        there = _to_replace(path, follow=True)
        return (
            there.exists()
            and there.stat().st_size == len(content)
            and there.read_bytes() == content
        )
    except ValueError as error:  # A null character in the path.
        raise InputFileError(f"not a path: {error}", where=repr(str(path))[:200]) from error
    except OSError as error:
        raise InputFileError(f"cannot write: {reason(error)}", where=str(path)[:200]) from error


def _to_replace(path: Path, follow: bool) -> Path:
    """The file itself that a path stands for, if it may be replaced."""
    name = str(path)
    if follow:
        path = Path(os.path.realpath(path))
        if path.is_symlink():
            raise InputFileError("symbolic links in a circle", where=name)
    if path.is_dir():
        raise InputFileError("this is a folder", where=name, expected="a file to write to")
    if path.exists() and not path.is_file():
        raise InputFileError(
            "this is not a regular file", where=name, expected="a file to write to"
        )
    return path


def check_target(path: Path, kind: str, is_kind: Callable[[bytes], bool]) -> None:
    """Check before the work that a file can be written here and that it replaces no file of another kind.

    `is_kind` gets the first bytes of an existing file: an older result may be replaced, but a typing mistake must not
    destroy a policy or a model.
    """
    name = str(path)
    try:
        if path.is_dir():
            raise InputFileError("this is a folder", where=name, expected=f"a file for {kind}")
        if not path.parent.is_dir():
            raise InputFileError(
                "cannot write: there is no such folder",
                where=name,
                expected="a file in a folder that exists",
                hint=f"make the folder {path.parent}, or choose another place",
            )
        # Its folder, because a file is replaced and not changed; a link is followed.
        if not os.access(Path(os.path.realpath(path)).parent, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "no permission to write in this folder")
        if not path.is_file():
            return
        with path.open("rb") as file:
            start = file.read(_PIECE)
    except ValueError as error:  # A null character in the path.
        raise InputFileError(f"not a path: {error}", where=repr(name)) from error
    except OSError as error:
        raise InputFileError(f"cannot write: {reason(error)}", where=name) from error
    if start and not is_kind(start):
        raise InputFileError(
            f"the file exists and is not {kind}",
            where=name,
            expected=f"no such file, or {kind} to replace",
            hint="choose another place",
        )


__all__ = [
    "check_beside",
    "check_target",
    "decoded",
    "holds",
    "is_of_current_folder",
    "is_there",
    "not_following",
    "not_waiting",
    "of_system",
    "open_inside",
    "read_bytes",
    "reason",
    "refuse_link",
    "refuse_linked_folders",
    "write_all",
    "write_bytes",
    "write_inside",
]
