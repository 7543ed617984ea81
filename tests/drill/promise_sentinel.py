"""The store of the promise drill as Sentinel keeps it: a primary, two replicas that are some way off, and three Sentinels that
fail over by themselves. The replicas of Frontdesk reach the primary by proxies that ask the Sentinels where it is."""

import asyncio
import collections
import signal
import subprocess
import sys

from promise_store import Server, Way, end, port, server, tell

NAME = "shop"
# How long a server must not have answered before a Sentinel takes it for down.
DOWN_AFTER = 1.5
CONFIG = """
port {port}
bind 127.0.0.1
dir {folder}
logfile {folder}/log
sentinel monitor {name} 127.0.0.1 {gate} 2
sentinel down-after-milliseconds {name} {down}
sentinel failover-timeout {name} 3000
sentinel parallel-syncs {name} 2
"""
# How far off each server is for the others, in seconds.
AWAY = (0.001, 0.02, 0.05)


class Node:
    """A server, and the gate by which its replicas and the Sentinels reach it; clients reach it without."""

    def __init__(self, kind, folder, number):
        self.name, self.server, self.gate = f"server {number}", Server(kind, folder / str(number)), Gate()
        self.gate.target, self.address = self.server.port, f"127.0.0.{11 + number}"
        self.gate.delays[self.address] = AWAY[number]

    async def start(self, primary=None):
        more = ["--replicaof", "127.0.0.1", str(primary.gate.port)] if primary else []
        await self.server.start("--bind-source-addr", self.address, "--replica-announce-ip", "127.0.0.1",
                                "--replica-announce-port", str(self.gate.port), *more)


class Gate(Way):
    # By the address that a replica comes from; the nodes share them.
    delays = {}

    def __init__(self):
        super().__init__(None)

    def delay_of(self, who):
        return self.delays.get(who, 0.0)


class Sentinel:
    def __init__(self, kind, folder, gate):
        self.kind, self.folder, self.gate, self.port, self.process = kind, folder, gate, port(), None
        folder.mkdir()

    async def start(self):
        file = self.folder / "sentinel.conf"
        file.write_text(CONFIG.format(port=self.port, folder=self.folder, name=NAME, gate=self.gate, down=int(DOWN_AFTER * 1000)))
        self.process = subprocess.Popen([server(self.kind), file, "--sentinel"], stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)

    async def knows(self):
        """How many replicas and other Sentinels it knows."""
        try:
            said = await tell(self.port, "SENTINEL", "MASTER", NAME)
        except (OSError, EOFError, asyncio.TimeoutError):
            return None
        if not isinstance(said, list):
            return None
        known = dict(zip(said[::2], said[1::2]))
        return int(known["num-slaves"]), int(known["num-other-sentinels"])

    async def primary(self):
        """The gate of what it takes for the primary."""
        try:
            said = await tell(self.port, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)
            return int(said[1])
        except (OSError, EOFError, ValueError, TypeError, asyncio.TimeoutError):
            return None


class SentinelStore:
    # Stopped for longer than this, it is replaced.
    moment = 0.8 * DOWN_AFTER

    def __init__(self, kind, folder, ways, wait):
        # How many servers may be lost at a time.
        self.bears = 1 if wait is None else wait
        kind = "valkey" if kind.startswith("valkey") else "redis"
        self.folder, self.failovers, self.is_failing_over = folder, 0, False
        self.nodes = [Node(kind, folder, number) for number in range(3)]
        self.node = self.nodes[0]
        self.ways = [Way(self.node.server.port) for _ in range(ways)]
        self.sentinels = [Sentinel(kind, folder / f"sentinel-{n}", self.node.gate.port) for n in range(3)]
        # Of those who still reach a primary that was cut off.
        self.behind = set()

    @property
    def primary(self):
        return self.node.server

    async def start(self):
        for each in [node.gate for node in self.nodes] + self.ways:
            await each.start()
        await self.node.start()
        for node in self.nodes[1:]:
            await node.start(self.node)
        await self.followed()
        for sentinel in self.sentinels:
            await sentinel.start()
        await self.until("the Sentinels know each other", self.are_ready)
        self.follows = asyncio.create_task(self.follow())

    async def are_ready(self):
        return all([await sentinel.knows() == (2, 2) for sentinel in self.sentinels])

    async def until(self, what, holds, seconds=60):
        for _ in range(seconds * 20):
            if await holds():
                return
            await asyncio.sleep(0.05)
        sys.exit(f"not so after {seconds} s: {what}: see {self.folder}")

    async def followed(self):
        """Until both replicas follow the primary."""
        async def holds():
            try:
                return (await tell(self.primary.port, "INFO", "replication")).count("state=online") == 2
            except (OSError, EOFError, asyncio.TimeoutError):
                return False
        await self.until("two replicas follow the primary", holds)

    async def follow(self):
        """Leads the ways to what two Sentinels take for the primary."""
        while True:
            await asyncio.sleep(0.1)
            said = collections.Counter([await sentinel.primary() for sentinel in self.sentinels])
            gate, votes = said.most_common(1)[0]
            if gate is None or votes < 2 or gate == self.node.gate.port:
                continue
            self.node = next(node for node in self.nodes if node.gate.port == gate)
            self.failovers += 1
            self.lead(way for way in self.ways if way not in self.behind)

    def lead(self, ways):
        for way in ways:
            way.target = self.primary.port
            way.cut()

    # What can go wrong with this kind of store alone.

    # Of these one at a time, as it bears the loss of one server.
    @property
    def alone(self):
        return {"killed", "paused", "split", *(() if self.bears > 1 else ("frozen",))}

    def faults(self, chance, tell_of):
        self.chance, self.tell_of = chance, tell_of
        return {"killed": self.killed, "paused": self.paused, "split": self.split, "lagging": self.lagging, "frozen": self.frozen}

    async def replaced(self, old, insist=lambda: None):
        """Until the Sentinels have made another the primary."""
        async def holds():
            insist()
            return self.node is not old
        await self.until(f"{old.name} is replaced", holds)
        self.tell_of(f"{self.node.name} is the primary")

    async def over(self):
        await self.followed()
        self.tell_of("two replicas follow the primary")
        self.is_failing_over = False

    async def killed(self):
        """The primary is killed. It is started again empty: as a replica, or as the primary that it was, until the Sentinels tell it."""
        self.is_failing_over, old = True, self.node
        old.server.kill()
        self.tell_of(f"{old.name} is killed")
        await self.replaced(old)
        await asyncio.sleep(self.chance.uniform(0, 2))
        await old.start(self.node if self.chance.random() < 0.5 else None)
        await self.over()

    async def paused(self):
        """The primary is stopped until another is in its place, and goes on as if it were one."""
        self.is_failing_over, old = True, self.node
        self.tell_of(f"{old.name} is stopped until it is replaced")
        self.behind = {way for way in self.ways if self.chance.random() < 0.3}
        await self.replaced(old, lambda: old.server.signal(signal.SIGSTOP))
        await asyncio.sleep(self.chance.uniform(0, 2))
        old.server.signal(signal.SIGCONT)
        await asyncio.sleep(self.chance.uniform(0, 2))
        self.lead(self.behind)
        self.behind = set()
        await self.over()

    async def split(self):
        """The primary is cut off from its replicas and the Sentinels, while some of its clients still reach it."""
        self.is_failing_over, old = True, self.node
        old.gate.is_shut = True
        old.gate.cut()
        self.behind = {way for way in self.ways if self.chance.random() < 0.5}
        self.tell_of(f"{old.name} is cut off, and {len(self.behind)} desks stay with it")
        await self.replaced(old)
        await asyncio.sleep(self.chance.uniform(0.5, 3))
        is_led_first = self.chance.random() < 0.5
        if is_led_first:
            self.lead(self.behind)
        old.gate.is_shut = False
        await asyncio.sleep(self.chance.uniform(0, 2))
        if not is_led_first:
            self.lead(self.behind)
        self.behind = set()
        await self.over()

    async def lagging(self):
        """A replica is further off for a while."""
        node, seconds = self.chance.choice([node for node in self.nodes if node is not self.node]), self.chance.uniform(0.1, 0.7)
        self.tell_of(f"{node.name} lags {seconds:.3f} s behind")
        Gate.delays[node.address] = seconds
        await asyncio.sleep(self.chance.uniform(1, 3))
        Gate.delays[node.address] = AWAY[self.nodes.index(node)]

    async def frozen(self):
        """A replica is stopped for a while. Not while another takes the place of the primary, unless both replicas are waited for:
        it may be the only one that has what was promised last."""
        if self.bears < 2:
            self.is_failing_over = True
        node, seconds = self.chance.choice([node for node in self.nodes if node is not self.node]), self.chance.uniform(0.3, 3)
        self.tell_of(f"{node.name} is stopped for {seconds:.3f} s")
        node.server.signal(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        node.server.signal(signal.SIGCONT)
        if self.bears < 2:
            # Until it has heard what it has missed.
            await asyncio.sleep(1.5)
            await self.over()

    def end(self):
        if hasattr(self, "follows"):
            self.follows.cancel()
        for sentinel in self.sentinels:
            if sentinel.process:
                end(sentinel.process)
        for node in self.nodes:
            node.server.kill()
