"""The page that follows a run."""

import json
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import numpy as np
import pytest

from flexmbs.post import live as live_module
from flexmbs.post.live import LiveServer, Source
from flexmbs.post.record import Record
from flexmbs.results import ResultWriter
from tests.post.synthetic import case, histories, layout_of, rod_modal, write_result


class Run:
    """A run that commits segments when told."""

    def __init__(self, path, parts=4, n=25):
        rod_modal().save(path.parent / "rod.modal.h5")
        self.time = np.linspace(0.0, 0.1, parts * n)
        self.fields, self.n, self.path = histories(self.time), n, path
        items = {"provenance": {"case_resolved": json.dumps(case())}}
        self.writer = ResultWriter(path, layout_of(self.fields), items, {"case_sha256": "0" * 64})
        self.count = 0

    def commit(self):
        part = slice(self.count * self.n, (self.count + 1) * self.n)
        samples = {name: item[2][part] for name, item in self.fields.items()} | {"time": self.time[part]}
        self.writer.commit(samples, {"t": self.time[part][-1]}, self.time[part][-1])
        self.count += 1


@pytest.fixture
def run(tmp_path):
    run = Run(tmp_path / "run.h5")
    with run.writer:
        yield run


def test_new_samples_arrive_as_events(run):
    with LiveServer(run.path, 0.1) as live:
        assert "not there yet" in urllib.request.urlopen(live.url).read().decode()
        run.commit()
        page = urllib.request.urlopen(live.url).read().decode()
        assert 'data-live="25"' in page
        threading.Timer(0.3, run.commit).start()
        stream = urllib.request.urlopen(f"{live.url}events?from=25")
        batch = next(json.loads(line[6:]) for line in stream if line.startswith(b"data: {"))
    assert batch["next"] == 50 and batch["progress"] == pytest.approx(run.time[49] / 0.1)
    np.testing.assert_array_equal(batch["time"], run.time[25:50])
    q = Record.load(run.path).require("bodies/rod/q")[25:50]
    np.testing.assert_array_equal(batch["bodies"][1]["q"], q.ravel())


def test_who_is_behind_catches_up_by_some_segments_at_a_time(tmp_path, monkeypatch):
    """All samples come, in order and once, however few are read for a message."""
    monkeypatch.setattr(live_module, "AT_ONCE", 2)
    run = Run(tmp_path / "run.h5", parts=5)
    with run.writer:
        run.commit()
        source = Source(run.path, 0.1, threading.Event())
        _, start = source.begun()
        for _ in range(4):
            run.commit()
        sizes, times = [], []
        while (batch := source.batch(start)) is not None:
            sizes.append(batch["next"] - start)
            start, times = batch["next"], times + batch["time"]
    assert sizes == [50, 50]
    np.testing.assert_array_equal(times, run.time[25:])


def test_an_earlier_result_of_the_same_name_is_not_shown(run):
    write_result(run.path, n=7)
    with LiveServer(run.path, 0.1) as live:
        assert 'data-live="7"' not in urllib.request.urlopen(live.url).read().decode()
        run.commit()
        assert 'data-live="25"' in urllib.request.urlopen(live.url).read().decode()


def test_the_end_waits_for_the_last_samples(run, monkeypatch):
    """A thread in the midst of HDF5 when the program ended kept it from ending."""
    run.commit()
    fresh = Source.fresh

    def slow(self, start):
        time.sleep(1.5)
        return fresh(self, start)

    with LiveServer(run.path, 0.1) as live:
        urllib.request.urlopen(live.url).read()
        stream = urllib.request.urlopen(f"{live.url}events?from=25")
        monkeypatch.setattr(Source, "fresh", slow)
        run.commit()
        time.sleep(0.5)
        before = threading.active_count()
        assert before > 2
    assert threading.active_count() <= before - 2
    assert "event: end" in stream.read().decode()


def test_the_server_answers_only_to_its_own_name_and_paths(run):
    run.commit()
    with LiveServer(run.path, 0.1) as live:
        assert live.url.startswith("http://127.0.0.1:")
        for request in (
            urllib.request.Request(live.url, headers={"Host": "example.org"}),
            f"{live.url}../etc/passwd",
            f"{live.url}events?from=-1",
        ):
            with pytest.raises(urllib.error.HTTPError):
                urllib.request.urlopen(request)


BROKEN = """
import signal, socket, time
from http.server import BaseHTTPRequestHandler
from flexmbs.post.loopback import LoopbackServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        for _ in range(5):
            self.wfile.write(b"answer")
            time.sleep(0.1)

signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # as gmsh leaves it
server = LoopbackServer(Handler)
server.begin()
for _ in range(2):
    with socket.create_connection(server.server_address) as page:
        page.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n")
        print(page.recv(6).decode())
    time.sleep(0.6)
server.end()
"""


def test_a_page_that_is_closed_ends_no_program_in_which_gmsh_has_been():
    """gmsh lets SIGPIPE end the process, silently; a report in an iframe was enough."""
    done = subprocess.run([sys.executable, "-c", BROKEN], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "answer\n" * 2), done.stderr


@pytest.mark.slow
@pytest.mark.needs("chromium")
def test_the_page_follows_the_run(run):
    from tests.post.chromium import Page

    run.commit()
    with LiveServer(run.path, 0.1) as live, Page() as page:
        page.call("Page.navigate", url=live.url)
        page.wait("window.flexmbs && window.flexmbs.ready")
        for _ in range(3):
            time.sleep(0.3)
            run.commit()
        page.wait("flexmbs.viewer.scene.time.length === 100")
        assert page.run("flexmbs.viewer.t") == pytest.approx(0.1)
        weights = page.run("Array.from(flexmbs.weights('rod'))")
        np.testing.assert_allclose(weights, run.fields["bodies/rod/q"][2][-1], rtol=1e-5, atol=1e-9)
        live.done.set()
        page.wait("document.getElementById('progress').textContent === 'the run has ended'")
        assert page.console == []
        assert {url.split("?")[0] for url in page.requests if not url.startswith("data:")} <= {
            live.url, live.url + "events", "about:blank",
        }  # fmt: skip
