"""A small load: threads of clients that never retry, and that know what became of each request."""

import threading
import time

from belay import Wire


class Load:
    """Clients in a closed loop until stopped; an outcome is a status, or what went wrong."""

    def __init__(self, port, clients, keep_alive=True, method="GET", pause_s=0.0, fields=()):
        self.port, self.keep_alive, self.method, self.pause_s = port, keep_alive, method, pause_s
        self.fields = list(fields)
        self.outcomes, self.lock, self.stopped = {}, threading.Lock(), threading.Event()
        self.threads = [threading.Thread(target=self._client, daemon=True) for _ in range(clients)]
        for thread in self.threads:
            thread.start()

    def _count(self, outcome):
        with self.lock:
            self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1

    def total(self):
        with self.lock:
            return sum(self.outcomes.values())

    def _client(self):
        wire = None
        while not self.stopped.is_set():
            if wire is None:
                wire = self._connect()
                if wire is None:
                    return
            if not self._request(wire) or not self.keep_alive:
                wire.close()
                wire = None
            if self.pause_s:
                time.sleep(self.pause_s)
        if wire:
            wire.close()

    def _connect(self):
        try:
            return Wire(self.port)
        except OSError:
            self._count("connect refused")  # not a lost request: nothing had been accepted
            return None

    def _request(self, wire):
        """One request; True when the connection may be used again."""
        try:
            got = wire.get("/load", self.fields, self.method)
        except (OSError, AssertionError, ValueError) as fault:
            self._count(f"lost: {type(fault).__name__}")
            return False
        if got is None:
            self._count("lost: closed without an answer")
            return False
        self._count(got.status if got.whole else "lost: cut")
        return (got.field("connection") or "").lower() != "close"

    def stop(self):
        self.stopped.set()
        for thread in self.threads:
            thread.join(30)
        return self.outcomes


def burst(port, requests, clients, path="/x"):
    """So many requests over so many clients; the statuses counted."""
    left, lock, statuses = [requests], threading.Lock(), {}

    def client():
        with Wire(port) as wire:
            while True:
                with lock:
                    if left[0] == 0:
                        return
                    left[0] -= 1
                status = wire.get(path).status
                with lock:
                    statuses[status] = statuses.get(status, 0) + 1

    threads = [threading.Thread(target=client) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return statuses
