"""Studies: `python -m tests.benchmarks.studies designs 10000 none`, or one of the following.

designs N KEEP : a rigid four-bar, whole on this machine: time of a design beside its steps, memory, reading;
                 `designs N KEEP processes` by processes of our own
processes N    : the same designs by processes of our own and by the LocalCluster that is the default, in turn
engines N      : CPU of a design beside its steps by both, in turn
flexible N     : the flexible slider-crank on two workers, against two independent processes, in turn
workers N      : simulated workers, objects of Dask in four processes, whose runs sleep
"""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import flexmbs as fm
from flexmbs.resources import resource as shipped
from flexmbs.study.store import Store

FOUR_BAR = Path(__file__).with_name("four-bar-study.toml")
SAMPLE = """include = ["{case}"]
[sweep]
sample = {{ method = "sobol", n = {n}, parameters = {{ {spread} }} }}
keep = "{keep}"
"""


def study(folder: Path, n: int, keep: str = "none") -> Path:
    """A study of the rigid four-bar."""
    shutil.copy(FOUR_BAR, folder / "bar.toml")
    spread = "coupler = [0.55, 0.65], mass = [0.4, 0.6]"
    path = folder / f"many-{n}-{keep}.toml"
    path.write_text(SAMPLE.format(case="bar.toml", n=n, spread=spread, keep=keep))
    return path


class Watch:
    """Share done, largest memory in MB and CPU seconds of all processes of a study, as it goes on."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, float, float]] = []

    def __call__(self, share: float, text: str) -> None:
        if not self.seen or share - self.seen[-1][0] > 0.05 or share == 1.0:
            pids = [os.getpid(), *below(os.getpid())]
            self.seen.append((share, max(map(memory, pids[1:]), default=0.0), sum(map(cpu_of, pids))))


def below(pid: int) -> list[int]:
    """What a process has started, and all that they have."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            found += [int(word) for word in (task / "children").read_text().split()]
        except OSError:  # it has ended
            continue
    return found + [other for one in found for other in below(one)]


def memory(pid: int | None) -> float:
    """Resident memory of a process in MB."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / 1e6
    except OSError:
        return 0.0


def designs(folder: Path, n: int, keep: str, cluster: str = "", workers: int = 2) -> None:
    fm.sweep(
        study(folder, 8), folder / "warm", workers=workers, cluster=cluster
    )  # kernels are compiled, and pages are read
    import pandas  # noqa: F401  (not to be counted below)

    watch, begun = Watch(), time.perf_counter()
    found = fm.sweep(study(folder, n, keep), folder / "s", workers=workers, cluster=cluster, progress=watch)
    wall = time.perf_counter() - begun
    (early, small, first), (late, large, last) = watch.seen[1], watch.seen[-1]
    cpu = (last - first) / (late - early)
    stepping, client = sum(row.get("stepping", 0.0) for row in found.rows), memory(os.getpid())
    begun = time.perf_counter()
    table = fm.Study.load(folder / "s").table
    read = time.perf_counter() - begun
    print(f"{n} designs, keep = {keep}, {workers} workers: {found.counts}")
    print(f"  wall {wall:.1f} s, CPU of all processes {cpu:.1f} s, in time loops {stepping:.1f} s")
    print(f"  (wall x workers - loops) / designs = {(wall * workers - stepping) / n * 1e3:.2f} ms")
    each, unit = (cpu - stepping) / n, min(import_of_numba() for _ in range(5))
    text = f"{each * 1e3:.2f} ms, {each / unit:.4f} imports of numba"
    print(f"  (CPU of all processes - loops) / designs = {text}")
    print(f"  memory of a worker {small:.0f} MB early, {large:.0f} MB late; of the client {client:.0f} MB")
    print(f"  reading {len(table)} rows into a table {read:.3f} s")


def import_of_numba() -> float:
    """CPU seconds of a program that imports numba: by how much this machine is slower than another now."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", "import numba"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def engines(folder: Path, n: int, repeats: int = 3) -> None:
    """CPU of a design beside its steps, of all processes, by the cluster and by our own, in turn."""
    for k in range(repeats):
        for name in ("", "processes"):
            watch = Watch()
            found = fm.sweep(
                study(folder, n), folder / f"{name}-{k}", workers=2, cluster=name, progress=watch
            )
            (early, _, first), (late, _, last) = watch.seen[2], watch.seen[-2]
            steps = sum(row.get("stepping", 0.0) for row in found.rows) / n
            each = (last - first) / (late - early) / n - steps
            text = f"{each * 1e3:.1f} ms, {each / import_of_numba():.4f} imports of numba"
            print(f"{name or 'LocalCluster'}: {text}", flush=True)


ONE = """
import sys, time, flexmbs as fm
first = []
fm.sweep(sys.argv[1], sys.argv[2], workers=2, cluster=sys.argv[3],
         progress=lambda share, text: first or first.append(time.time()))
print(first[0])
"""


def processes(folder: Path, n: int, repeats: int = 3) -> None:
    """Seconds from the start of a program to its first row and to its end, and of a further design."""
    for size in (2, n):
        study(folder, size)
    for k in range(-1, repeats):  # the first round compiles kernels, and reads pages
        for name in ("processes", ""):
            first, times = [0.0], []
            for size in (2, n):
                path, target = folder / f"many-{size}-none.toml", folder / f"{name}-{size}-{k}"
                begun = time.time()
                out = subprocess.run(
                    [sys.executable, "-c", ONE, str(path), str(target), name],
                    stdout=subprocess.PIPE,
                    check=True,
                )
                times.append(time.time() - begun)
                first.append(float(out.stdout) - begun)
            each = (times[1] - times[0]) / (n - 2) * 1e3
            text = f"{name or 'LocalCluster'}: first row after {first[1]:.1f} s, two designs {times[0]:.1f} s"
            print(f"{text}, each further {each:.1f} ms" if k >= 0 else "", flush=True)


INDEPENDENT = """
import sys, time, flexmbs as fm
case = fm.Case.load(sys.argv[1]).keep_bodies()
values = [float(x) for x in sys.argv[2].split(",")]
fm.run_one(case, speed=values[0])
print(time.time(), flush=True)
for x in values: fm.run_one(case, speed=x)
print(time.time())
"""


def stamp(stamps: list[float], share: float, text: str) -> None:
    stamps.append(time.time())


def flexible(folder: Path, n: int) -> None:
    """Rates of warm designs on two workers and in two processes that know nothing of each other, in turn."""
    for name in ("flexible-slider-crank.toml", "flexible-slider-crank.reduce.toml"):
        shutil.copy(shipped(f"cases/{name}"), folder)
    case = folder / "case.toml"
    more = '[metrics]\nlargest = "=max(abs(sensors.deflection))"\n'
    case.write_text('include = ["flexible-slider-crank.toml"]\n' + more)
    path = folder / "flexible.toml"
    text = SAMPLE.format(case="case.toml", n=n, spread="speed = [140, 150]", keep="none")
    path.write_text(text)
    fm.run_one(fm.Case.load(case))  # reduced once, for all
    for k in range(3):
        stamps: list[float] = []
        found = fm.sweep(path, folder / f"f{k}", workers=2, progress=partial(stamp, stamps))
        values = found.columns["speed"]
        skipped = 4  # of processes that begin
        sweep = (len(stamps) - skipped) / (stamps[-1] - stamps[skipped - 1])
        running = [
            subprocess.Popen([sys.executable, "-c", INDEPENDENT, str(case), ",".join(map(str, part))],
                             stdout=subprocess.PIPE, text=True)
            for part in (values[::2], values[1::2])
        ]  # fmt: skip
        ends = [[float(x) for x in item.communicate()[0].split()] for item in running]
        alone = sum(
            len(part) / (b - a) for part, (a, b) in zip((values[::2], values[1::2]), ends, strict=True)
        )
        print(
            f"{sweep:.2f} designs/s on two workers, {alone:.2f} in two processes: {sweep / alone:.3f}",
            flush=True,
        )


#: what every worker of a machine does for itself many times a second: two hundred in a process cannot
ALONE = {
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL": "10s",
    "DASK_DISTRIBUTED__ADMIN__TICK__LIMIT": "60s",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "60s",
    "DASK_DISTRIBUTED__WORKER__USE_FILE_LOCKING": "False",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "120s",
}
SIMULATED = """
import asyncio, sys
from distributed import Worker

async def main(address, n):
    workers = [Worker(address, nthreads=1, dashboard=False, memory_limit=0) for _ in range(n)]
    for k in range(0, n, 25):
        await asyncio.gather(*workers[k:k + 25])
    await asyncio.gather(*(item.finished() for item in workers))

asyncio.run(main(sys.argv[1], int(sys.argv[2])))
"""


def asleep(folder: str, k: int, version: str) -> dict[str, object]:
    """What a simulated worker does: it sleeps, and writes its row."""
    store = _store(folder)
    time.sleep(float(os.environ.get("FLEXMBS_BENCH_SLEEP", "20")))
    return store.write_row(k, {"status": "complete", "message": "", "metrics": {"peak": 1.0}, "seconds": 1.0})


_STORES: dict[str, Store] = {}


def _store(folder: str) -> Store:
    if folder not in _STORES:
        _STORES[folder] = Store.open(Path(folder))
    return _STORES[folder]


def workers(folder: Path, n: int, n_designs: int = 4000) -> None:
    """Pace and memory of a scheduler, and of its client, with many workers whose runs sleep."""
    import socket

    from distributed import Client

    from flexmbs.study.cluster import run_on_cluster
    from flexmbs.study.run import plan

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard", "--host", address]
    running = [subprocess.Popen(command, **quiet)]  # type: ignore[call-overload]
    try:
        time.sleep(5.0)
        each = [sys.executable, "-c", SIMULATED, address, str(n // 4)]
        running += [subprocess.Popen(each, env=os.environ | ALONE, **quiet) for _ in range(4)]  # type: ignore[call-overload]
        with Client(address, timeout="60s") as client:
            client.wait_for_workers(n, timeout=900)
        pid = running[0].pid
        print(
            f"{n} workers: scheduler {memory(pid):.0f} MB, {cpu_of(pid):.1f} s CPU until all were there",
            flush=True,
        )
        made = plan(study(folder, n_designs), folder / "w")
        store = Store.create(made.folder, made.data)
        cpu, own, begun, largest, done = cpu_of(pid), time.process_time(), time.perf_counter(), 0.0, 0
        for _ in run_on_cluster(store, range(n_designs), address, work=asleep):
            done += 1
            if done % 50 == 0:
                largest = max(largest, memory(pid))
        wall, cpu, own = time.perf_counter() - begun, cpu_of(pid) - cpu, time.process_time() - own
        print(f"{done} designs in {wall:.0f} s, {done / wall:.0f} designs/s")
        print(f"scheduler {cpu / done * 1e3:.2f} ms CPU a design, {largest:.0f} MB")
        print(f"client {own / done * 1e3:.2f} ms CPU a design, {memory(os.getpid()):.0f} MB")
    finally:
        for item in running:
            item.kill()
            item.wait()


def cpu_of(pid: int) -> float:
    """CPU seconds of a process that runs."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        what = {
            "designs": designs,
            "processes": processes,
            "engines": engines,
            "flexible": flexible,
            "workers": workers,
        }
        rest = [int(word) if word.isdecimal() else word for word in sys.argv[2:]]
        what[sys.argv[1]](Path(place), *rest)  # type: ignore[operator]
