"""Real processes for tests and measurements: started, waited for until ready, and stopped."""

import os
import re
import socket
import subprocess
import threading
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BELAY_BUILD", ROOT / "build-test"))
BELAY = BUILD / "src" / "app" / "belay"
READY_SECONDS_MAX = 20


class Process:
    """A child that this object started; only this object ends it."""

    def __init__(self, command, **options):
        self.command = [str(word) for word in command]
        self.lines = []
        self.changed = threading.Condition()
        self.ended = False
        self.child = subprocess.Popen(
            self.command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=options.pop("stdin", subprocess.DEVNULL),
            text=True,
            errors="replace",
            **options,
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    @property
    def pid(self):
        return self.child.pid

    def _read(self):
        for line in self.child.stdout:
            with self.changed:
                self.lines.append(line.rstrip("\n"))
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def wait_for(self, pattern, seconds=READY_SECONDS_MAX):
        """The match of the first line printed that has the pattern."""

        def search():
            return next(filter(None, (re.search(pattern, line) for line in self.lines)), None)

        with self.changed:
            self.changed.wait_for(lambda: self.ended or search(), seconds)
            match = search()
        assert match, f"{self.command[0]} did not say {pattern!r}; it said:\n" + "\n".join(
            self.lines[-40:]
        )
        return match

    def signal(self, number):
        self.child.send_signal(number)

    def wait(self, seconds=READY_SECONDS_MAX):
        code = self.child.wait(seconds)
        self.reader.join(seconds)
        return code

    def stop(self, seconds=READY_SECONDS_MAX):
        """Ends it if it still runs; returns its exit code."""
        if self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(seconds)
            except subprocess.TimeoutExpired:
                self.child.kill()
        code = self.child.wait()
        self.reader.join(seconds)
        self.child.stdout.close()
        return code


def free_port():
    """A port that was free a moment ago, for servers that cannot choose one by themselves."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def until(condition, seconds=READY_SECONDS_MAX, what="the condition"):
    """Polls until the condition holds and returns its value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"{what} did not come true in {seconds} s"
        time.sleep(0.01)


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def ready(process, port):
    """Waits until the process accepts on its port."""

    def accepting():
        assert process.child.poll() is None, f"{process.command[0]} ended:\n" + "\n".join(
            process.lines
        )
        return accepts(port)

    until(accepting, what=f"{process.command[0]} accepting")
    return process


def start_nginx(folder, port, inside_server, inside_http="", workers=1, prefix=()):
    """nginx in the foreground on a port, with these lines inside its server block."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "nginx.conf"
    config.write_text(f"""
daemon off; worker_processes {workers}; pid {folder}/nginx.pid; error_log {folder}/error.log warn;
worker_rlimit_nofile 20000;
events {{ worker_connections 18000; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 75s;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  {inside_http}
  server {{ listen 127.0.0.1:{port} backlog=4096; {inside_server} }}
}}
""")
    user = ["-g", "user root;"] if os.getuid() == 0 else []
    nginx = Process([*prefix, "/usr/sbin/nginx", "-p", folder, "-c", config, *user])
    return ready(nginx, port)


def start_haproxy(folder, port, backend, defaults="", top="", prefix=()):
    """haproxy in the foreground on a port, in front of a backend's lines."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "haproxy.cfg"
    config.write_text(f"""
global
    nbthread 1
    maxconn 9000
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
{defaults}
{top}
frontend f
    bind 127.0.0.1:{port} backlog 4096
    default_backend b
backend b
{backend}
""")
    haproxy = Process([*prefix, "/usr/sbin/haproxy", "-db", "-f", config])
    return ready(haproxy, port)
