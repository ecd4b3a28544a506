"""A signal ends a command in time, whatever it is at, and never in the middle of HDF5."""

import os
import signal
import subprocess
import sys
import time

import pytest

from flexmbs import hdf5, interrupts
from tests.test_told import alive

BUSY = """
import hashlib, os, sys
from flexmbs import interrupts
interrupts.end_in_time(0.2)
print("ready", flush=True)
{work}
print("ended by itself", flush=True)
"""
#: minutes inside of one call of a compiled library, or Python that answers every interrupt by going on
WORKS = {"compiled": 'hashlib.pbkdf2_hmac("sha256", b"", b"", 2 * 10**9)', "python": "while True: pass"}
STUBBORN = """
while True:
    try:
        print("inside", flush=True)
        {work}
    except KeyboardInterrupt:
        pass
"""
WORKERS = """
import multiprocessing, time
worker = multiprocessing.get_context("fork").Process(target=time.sleep, args=(1000,), daemon=True)
worker.start()
print(worker.pid, flush=True)
"""


def busy(work):
    code = BUSY.format(work=work)
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "ready\n"
    return child


@pytest.mark.parametrize("number", interrupts.STOPPING)
@pytest.mark.parametrize("work", WORKS.values(), ids=WORKS)
def test_a_signal_ends_what_no_handler_reaches(work, number):
    child = busy(STUBBORN.format(work=work))
    assert child.stdout.readline() == "inside\n"
    child.send_signal(number)
    out, err = child.stdout.read(), child.stderr.read()
    child.wait(timeout=60)
    assert child.returncode == 130 and out in ("", "inside\n") and err == "interrupted\n"


def test_workers_end_with_the_command():
    child = busy(WORKERS + STUBBORN.format(work=WORKS["compiled"]))
    worker = int(child.stdout.readline())
    assert child.stdout.readline() == "inside\n"
    child.send_signal(signal.SIGTERM)
    child.wait(timeout=60)
    assert child.returncode == 130
    for _ in range(100):
        if not alive(worker):
            break
        time.sleep(0.05)
    assert not alive(worker)


def test_work_that_ends_in_time_is_left_alone():
    child = busy("try:\n  os.kill(os.getpid(), 15)\nexcept KeyboardInterrupt: pass")
    out, err = child.stdout.read(), child.stderr.read()
    child.wait(timeout=60)
    assert child.returncode == 0 and out == "ended by itself\n" and err == ""


def test_a_second_signal_while_the_first_is_told_changes_nothing():
    child = busy("try:\n  os.kill(os.getpid(), 2)\nexcept KeyboardInterrupt: os.kill(os.getpid(), 15)")
    out, err = child.stdout.read(), child.stderr.read()
    child.wait(timeout=60)
    assert child.returncode == 0 and out == "ended by itself\n" and err == ""


@pytest.mark.parametrize("number", interrupts.STOPPING)
def test_signals_wait_until_a_file_is_whole(tmp_path, number):
    def fill(root):
        signal.raise_signal(number)
        hdf5.dataset(root, "x", [1.0, 2.0])

    def handler(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(number, handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            hdf5.build_file(tmp_path / "a.h5", fill, format="test", version=1)
        assert signal.getsignal(number) is handler
    finally:
        signal.signal(number, before)
    assert os.listdir(tmp_path) == []


def test_a_run_hears_of_signals_that_waited():
    with interrupts.deferred() as stop:
        with interrupts.held():
            signal.raise_signal(signal.SIGINT)
            assert not stop.asked
        assert stop.asked
