"""Running seeds: one for a test, many over all cores, or one that failed, as short as it still fails.

python -m tests.power_loss.replay 17             # run it and print its story
python -m tests.power_loss.replay 0-2000 --jobs 2
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

from tests.power_loss.world import CRASHES, STEPS_MAX, World

STORY_LINES = 60


class FaultLines(logging.Handler):
    """Keeps the errors that the broker logs: on a disk that works there is no reason for one."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []
        self.setFormatter(logging.Formatter("%(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))


@contextmanager
def listening() -> Iterator[list[str]]:
    """Collect error lines of the broker, and keep its warnings of every crash from the terminal."""
    handler = FaultLines()
    logger = logging.getLogger("barnabas")
    kept, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield handler.lines
    finally:
        logger.removeHandler(handler)
        logger.propagate = kept


def run_seed(seed: int, *, steps_max: int = STEPS_MAX, crashes: int = CRASHES) -> World:
    """Run one seed.

    Raises:
        AssertionError: a rule was broken; the text says how to replay it.
    """
    world = World(seed, steps_max=steps_max, crashes=crashes)
    with listening() as faults:
        try:
            world.run()
            assert not faults, faults[0]
        except Exception as error:
            told = "\n".join([*faults[:3], *world.story[-STORY_LINES:]])
            raise AssertionError(
                f"seed {seed}: {error}\nreplay: python -m tests.power_loss.replay {seed} "
                f"--steps {steps_max} --crashes {crashes}\n{told}"
            ) from error
    return world


def shrink(seed: int) -> tuple[int, int] | None:
    """Return the fewest crashes and steps with which a seed still fails; None when it does not."""
    for crashes in range(CRASHES + 1):
        for steps_max in (8, 16, 30, 45, STEPS_MAX):
            try:
                run_seed(seed, steps_max=steps_max, crashes=crashes)
            except AssertionError:
                return crashes, steps_max
    return None


def _outcome(seed: int) -> tuple[int, str]:
    try:
        run_seed(seed)
    except AssertionError as error:
        return seed, str(error).partition("\n")[0]
    return seed, ""


def run_many(seeds: range, jobs: int) -> dict[int, str]:
    """Run seeds over several processes; return what failed, by seed."""
    if jobs <= 1:
        return {seed: said for seed, said in map(_outcome, seeds) if said}
    with ProcessPoolExecutor(jobs) as pool:
        return {seed: said for seed, said in pool.map(_outcome, seeds, chunksize=20) if said}


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", help="a seed, or FIRST-BEHIND")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--steps", type=int, default=STEPS_MAX)
    parser.add_argument("--crashes", type=int, default=CRASHES)
    parser.add_argument("--shrink", action="store_true")
    options = parser.parse_args()
    first, dash, behind = options.seeds.partition("-")
    if dash:
        began = time.monotonic()
        failed = run_many(range(int(first), int(behind)), options.jobs)
        for seed, said in sorted(failed.items()):
            print(f"{seed}: {said}")
        count = int(behind) - int(first)
        print(f"{len(failed)} of {count} seeds failed, {(time.monotonic() - began) / count:.3f} s each")
        sys.exit(bool(failed))
    seed = int(first)
    if options.shrink:
        print("crashes, steps:", shrink(seed))
        return
    world = run_seed(seed, steps_max=options.steps, crashes=options.crashes)
    print("\n".join(world.story))


if __name__ == "__main__":
    main()
