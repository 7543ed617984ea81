"""What an idle connection holds: two thousand that were kept after one answer each, in resident memory."""
import resource, socket, time

from . import process

COUNT, FIRST = 2000, 200


def one(port):
    """A connection after one whole answer."""
    s = socket.create_connection(("127.0.0.1", port), 10)
    s.sendall(b"GET /thing.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
    head, _, body = b"", b"", b""
    while b"\r\n\r\n" not in head:
        head += receive(s)
    head, _, body = head.partition(b"\r\n\r\n")
    small = head.lower()
    if not small.startswith(b"http/1.1 200") or b"connection: close" in small:
        raise SystemExit(f"{port} does not keep a connection: {head!r}")
    if b"content-length: " in small:
        length = int(small.split(b"content-length: ")[1].split(b"\r\n")[0])
        while len(body) < length:
            body += receive(s)
    else:
        while not body.endswith(b"0\r\n\r\n"):
            body += receive(s)
    return s


def receive(s):
    more = s.recv(65536)
    if not more:
        raise SystemExit("a connection was closed")
    return more


def settled(pid):
    """Resident memory once it no longer changes: allocators give back late."""
    last = process.resident(pid)
    for _ in range(20):
        time.sleep(1)
        now = process.resident(pid)
        if abs(now - last) < 0.005 * last:
            break
        last = now
    return now


def measure(proxies, rounds):
    """Bytes a connection, and resident bytes before and after, for each proxy, each round with a process of its own."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    found = {proxy.name: [] for proxy in proxies}
    for _ in range(rounds):
        for proxy in proxies:
            running, held = proxy.start(), []
            try:
                # The first are not counted: pools, stacks and what an allocator sets aside are not a connection's. They
                # stay, so that what follows has nothing of theirs.
                held += [one(proxy.http) for _ in range(FIRST)]
                before = settled(running.pid)
                held += [one(proxy.http) for _ in range(COUNT)]
                after = settled(running.pid)
                found[proxy.name].append(((after - before) / COUNT, before, after))
            finally:
                for s in held:
                    s.close()
                process.stop([running])
    return found
