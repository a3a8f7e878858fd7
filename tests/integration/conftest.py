"""Fixtures: factories of daemons and origins that are stopped when their test ends."""

import pytest
from belay import Belay, configuration
from origin import Origin


@pytest.fixture
def closing():
    """Remembers what must be stopped, last first."""
    things = []
    yield things
    faults = []
    for thing in reversed(things):
        try:
            thing.stop() if hasattr(thing, "stop") else thing.close()
        except AssertionError as fault:
            faults.append(str(fault))
    assert not faults, "\n".join(faults)


@pytest.fixture
def start_origin(closing):
    """start_origin(script) -> Origin"""

    def start(script=None):
        closing.append(Origin(script))
        return closing[-1]

    return start


@pytest.fixture
def start_belay(closing, tmp_path):
    """start_belay(configuration) -> Belay"""

    def start(config, **options):
        folder = tmp_path / f"belay{len(closing)}"
        closing.append(Belay(folder, config, **options))
        return closing[-1]

    return start


@pytest.fixture
def through(start_origin, start_belay):
    """through(script, policy...) -> (Belay, Origin): a daemon in front of a scripted origin."""

    def start(script=None, workers=1, route=None, **policy):
        origin = start_origin(script)
        listener = (
            {"routes": [{"target": "t", "path": "/{rest}", **route}]} if route else {"target": "t"}
        )
        return (
            start_belay(configuration({"t": (origin.port, policy)}, [listener], workers=workers)),
            origin,
        )

    return start
