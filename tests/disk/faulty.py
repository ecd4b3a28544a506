"""Disks that fail, processes that die, power that goes: stand-ins for `disk.operations.system`."""

import errno
import os

from flexmbs.disk.operations import Operations

CHANGING = (
    "create", "open", "write", "truncate", "sync", "replace", "link", "unlink", "mkdir", "rmdir",
    "sync_folder",
)  # fmt: skip


class Counted(Operations):
    """Counts operations; `met(name, number)` is called before each, and decides what becomes of it."""

    def __init__(self):
        self.names = []

    def met(self, name, args):
        """Do something before an operation, or in its place when it returns True."""
        return False


def _counted(name):
    def operation(self, *args):
        self.names.append(name)
        done = self.met(name, args)
        return getattr(Operations, name)(self, *args) if done is False else done

    return operation


for _name in CHANGING:
    setattr(Counted, _name, _counted(_name))


class Failing(Counted):
    """Operation number `at` fails, once or for good: by an errno, or as a write of a part."""

    def __init__(self, at, error, for_good=False):
        super().__init__()
        self.at, self.error, self.for_good = at, error, for_good

    def met(self, name, args):
        number = len(self.names) - 1
        if number != self.at and not (self.for_good and number > self.at):
            return False
        if self.error == "short":
            return Operations.write(self, args[0], bytes(args[1])[:1]) if name == "write" else False
        raise OSError(self.error, os.strerror(self.error))


class Dying(Counted):
    """The process ends before operation number `at`, or within it: half of a write is done."""

    def __init__(self, at, within=False):
        super().__init__()
        self.at, self.within = at, within

    def met(self, name, args):
        if len(self.names) - 1 == self.at:
            if self.within and name == "write":
                data = bytes(args[1])
                Operations.write(self, args[0], data[: len(data) // 2])
            os._exit(9)
        return False


class Power(Counted):
    """Remembers what a disk keeps: data that were synced, names in folders that were synced."""

    def __init__(self, root):
        super().__init__()
        self.root = root
        self.number, self.handles, self.live = 0, {}, {}
        self.durable, self.kept, self.pending = {}, {}, []

    def new(self, path):
        self.number += 1
        self.live[path] = self.number
        self.pending.append((path, self.number))

    def met(self, name, args):
        done = getattr(Operations, name)(self, *args)
        if name in ("create", "open"):
            if args[0] not in self.live:
                self.new(args[0])
            self.handles[done] = self.live[args[0]], args[0]
        elif name == "sync":
            self.durable[self.handles[args[0]][0]] = content(args[0])
        elif name in ("replace", "link"):
            self.live[args[1]] = self.live[args[0]]
            self.pending.append((args[1], self.live[args[1]]))
            if name == "replace":
                self.gone(args[0])
        elif name in ("unlink", "rmdir"):
            self.gone(args[0])
        elif name == "mkdir":
            self.live[args[0]] = 0
            self.pending.append((args[0], 0))
        elif name == "sync_folder":
            for item in [item for item in self.pending if item[0].parent == args[0]]:
                self.keep(self.kept, item)
            self.pending = [item for item in self.pending if item[0].parent != args[0]]
        return done

    def gone(self, path):
        del self.live[path]
        self.pending.append((path, None))

    @staticmethod
    def keep(names, item):
        path, number = item
        if number is None:
            names.pop(path, None)
        else:
            names[path] = number

    def after_the_cut(self, target, rng):
        """Write into `target` what may be found when the power is back: what was not synced is luck."""
        names = dict(self.kept)
        folders = {path.parent for path, _ in self.pending}
        for folder in folders:
            waiting = [item for item in self.pending if item[0].parent == folder]
            for item in waiting[: int(rng.integers(len(waiting) + 1))]:
                self.keep(names, item)
        now = {number: path for path, number in self.live.items() if number and path.is_file()}
        for path, number in sorted(names.items()):
            place = target / path.relative_to(self.root)
            if not place.parent.is_dir():  # its folder was lost with it
                continue
            if number == 0:
                place.mkdir(exist_ok=True)
                continue
            data = self.durable.get(number, b"")
            if number in now and rng.integers(2):
                data = now[number].read_bytes()
                if not data.startswith(self.durable.get(number, b"")):
                    data = self.durable[number]
                elif rng.integers(2):  # torn behind what was synced
                    data = data[: int(rng.integers(len(self.durable.get(number, b"")), len(data) + 1))]
            place.write_bytes(data)


def content(handle):
    return os.pread(handle, os.fstat(handle).st_size, 0)


ERRORS = (errno.ENOSPC, errno.EIO, errno.EDQUOT, "short")
