"""What goes wrong while the promise drill runs: one fault every second or two, and several at a time."""

import asyncio
import collections
import signal


class Faults:
    def __init__(self, drill):
        self.drill, self.options, self.chance = drill, drill.options, drill.chance
        self.store, self.desks = drill.store, drill.desks
        self.counts, self.story, self.is_over = collections.Counter(), [], False

    def tell(self, what):
        self.story.append(f"{self.drill.now():.3f} fault: {what}")

    async def run(self):
        every = {
            "cut": self.cut, "lost": self.lost, "late": self.late, "stopped": self.stopped, "held": self.held, "away": self.away,
            **self.store.faults(self.chance, self.tell)}
        names = [name for name in every if not self.options.faults or name in self.options.faults.split(",")]
        going = []
        while not self.is_over:
            await asyncio.sleep(self.chance.uniform(1, 2))
            possible = [name for name in names if not (self.store.is_failing_over and name in self.store.alone)]
            if not possible:
                continue
            name = self.chance.choice(possible)
            self.counts[name] += 1
            going.append(asyncio.create_task(every[name]()))
        await asyncio.gather(*going)

    def some_way(self, what):
        number = self.chance.randrange(len(self.store.ways))
        self.tell(f"desk {number}: {what}")
        return self.store.ways[number]

    async def cut(self):
        """Connections of one replica are cut."""
        self.some_way("its connections to the store are cut").cut()

    async def lost(self):
        """The store does what it is asked, and its answers are lost."""
        seconds = self.chance.uniform(0.05, 0.6)
        way = self.some_way(f"the store's answers are lost for {seconds:.3f} s")
        way.is_mute = True
        await asyncio.sleep(seconds)
        way.cut()
        way.is_mute = False

    async def late(self):
        """The store is slow to reach."""
        delay, seconds = self.chance.uniform(0.05, 0.5), self.chance.uniform(0.3, 1)
        way = self.some_way(f"the store is {delay:.3f} s away for {seconds:.3f} s")
        way.delay = delay
        await asyncio.sleep(seconds)
        way.delay = 0.0

    async def stopped(self):
        """A replica of Frontdesk is stopped, and goes on."""
        await self.stop(self.chance.choice([self.chance.uniform(0.3, 3), self.chance.uniform(6, 9)]))

    async def held(self):
        """The same, for long, and while it waits for the store."""
        await self.stop(self.chance.uniform(8.5, 10), 0.08)

    async def stop(self, seconds, delay=0.0):
        running = [n for n, desk in enumerate(self.desks) if not desk.is_stopped]
        if len(running) < 2:
            return
        number = self.chance.choice(running)
        desk, way = self.desks[number], self.store.ways[number]
        desk.is_stopped, way.delay = True, delay
        await asyncio.sleep(0.5 if delay else 0)
        desk.signal(signal.SIGSTOP)
        self.tell(f"desk {number}: stopped for {seconds:.3f} s{', while it waits for the store' if delay else ''}")
        way.delay = 0.0
        await asyncio.sleep(seconds)
        desk.signal(signal.SIGCONT)
        self.tell(f"desk {number}: goes on")
        desk.is_stopped = False

    async def away(self):
        """The store itself is stopped for a moment, and goes on."""
        server, seconds = self.store.primary, self.chance.uniform(0.3, self.store.moment)
        if self.store.is_failing_over:
            return
        server.signal(signal.SIGSTOP)
        self.tell(f"the store is stopped for {seconds:.3f} s")
        await asyncio.sleep(seconds)
        server.signal(signal.SIGCONT)
