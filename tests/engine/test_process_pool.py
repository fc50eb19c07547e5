"""Who gets a worker of a pool, and when."""

import asyncio

from engine.process_pool import Limits, Worker, WorkerQueue


async def test_the_urgent_goes_first_and_equals_in_the_order_they_came() -> None:
    queue, order = WorkerQueue([Worker(Limits())]), list[str]()

    async def work(name: str, urgency: int) -> None:
        worker = await queue.acquire(urgency)
        order.append(name)
        queue.release(worker)

    worker = await queue.acquire()
    waiting = [
        asyncio.create_task(work(name, urgency))
        for name, urgency in (("document", 1), ("next document", 1), ("question", 0))
    ]
    await asyncio.sleep(0)
    assert not queue.is_idle
    queue.release(worker)
    await asyncio.gather(*waiting)
    assert order == ["question", "document", "next document"]
    assert queue.is_idle


async def test_a_worker_lent_to_a_cancelled_task_goes_to_the_next() -> None:
    worker = Worker(Limits())
    queue = WorkerQueue([worker])
    await queue.acquire()
    cancelled, patient = [asyncio.create_task(queue.acquire()) for _ in range(2)]
    await asyncio.sleep(0)
    queue.release(worker)
    cancelled.cancel()
    assert await patient is worker
    assert cancelled.cancelled()
    queue.release(worker)
    assert queue.is_idle
