"""A job that has ceased to run is said once, and shown by its age."""

import logging
from dataclasses import dataclass

import pytest

from bot.jobs.scheduler import Job, Watchdog


async def nothing() -> int:
    return 0


POLL = Job(name="poll", work=nothing, every=15, timeout=600)
DELIVER = Job(name="deliver", work=nothing, every=1, timeout=170)


@dataclass
class Clock:
    """Seconds that the test counts."""

    seconds: float = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def watchdog(clock: Clock, caplog: pytest.LogCaptureFixture) -> Watchdog:
    caplog.set_level(logging.INFO, "presagio.jobs")
    return Watchdog(clock)


def run(watchdog: Watchdog, clock: Clock, job: Job, seconds: float = 0) -> None:
    watchdog.began(job)
    clock.seconds += seconds
    watchdog.note_end(job)


@pytest.mark.parametrize(
    ("job", "idle", "warns"),
    [(POLL, 75, False), (POLL, 76, True), (DELIVER, 30, False), (DELIVER, 31, True)],
)
def test_a_job_that_does_not_run_for_several_intervals_is_said(
    watchdog: Watchdog,
    clock: Clock,
    caplog: pytest.LogCaptureFixture,
    job: Job,
    idle: float,
    warns: bool,
) -> None:
    run(watchdog, clock, job)
    clock.seconds += idle
    watchdog.look()
    said = f"{job.name} has not run for {idle} s; it is due every {job.every} s"
    assert caplog.messages == ([said] if warns else [])


def test_idle_job_and_its_recovery_are_logged_once(
    watchdog: Watchdog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    watchdog.expect(POLL)  # and it never ran
    for _ in range(3):
        clock.seconds += 100
        watchdog.look()
    run(watchdog, clock, POLL)
    for _ in range(2):
        watchdog.look()
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "poll has not run for 100 s; it is due every 15 s"),
        ("INFO", "poll runs again"),
    ]


def test_run_far_beyond_its_timeout_is_logged(
    watchdog: Watchdog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    watchdog.began(POLL)
    clock.seconds += 630
    watchdog.look()
    assert caplog.messages == []
    clock.seconds += 1
    watchdog.look()
    assert caplog.messages == [
        "poll has been running for 631 s and does not end; it is due every 15 s"
    ]


def test_excused_job_is_not_reported_as_idle(
    watchdog: Watchdog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    run(watchdog, clock, POLL)
    run(watchdog, clock, DELIVER)
    watchdog.excuse(POLL)
    clock.seconds += 20
    assert watchdog.ages() == {"deliver": 20}
    clock.seconds += 7200
    run(watchdog, clock, DELIVER)
    watchdog.look()
    assert caplog.messages == []


def test_the_age_is_that_of_the_end_of_the_last_run(watchdog: Watchdog, clock: Clock) -> None:
    run(watchdog, clock, POLL, seconds=40)
    assert watchdog.ages() == {"poll": 0}
    clock.seconds += 15
    watchdog.began(POLL)
    clock.seconds += 5
    assert watchdog.ages() == {"poll": 20}
