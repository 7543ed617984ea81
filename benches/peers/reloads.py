"""What a reload breaks: ten of them under load, each proxy's own way, each with something changed.

wrk counts what failed: a connection closed on a request, an answer that is none, a time-out. It asks again as any
client would; so a failure here is one that a client without retries would show to its user.
"""
import threading, time

from . import load, process

TIMES, EVERY = 10, 0.6


def failures(proxy):
    """One run; the last configuration has to be in force after it."""
    running = proxy.start()
    try:
        load.wrk(proxy.http, "/thing.json", 1, proxy.site.folder)

        def reload():
            time.sleep(EVERY)
            for generation in range(1, TIMES + 1):
                began = time.monotonic()
                proxy.reload(generation)
                time.sleep(max(0.0, EVERY - (time.monotonic() - began)))

        other = threading.Thread(target=reload)
        other.start()
        done = load.wrk(proxy.http, "/thing.json", int(EVERY * (TIMES + 2)) + 1, proxy.site.folder)
        other.join()
        time.sleep(1)
        said = proxy.generation()
        if said != str(TIMES):
            raise SystemExit(f"{proxy.name} was reloaded {TIMES} times and is at {said}")
        return done
    finally:
        process.stop([running])


def measure(proxies, rounds):
    """The runs of each proxy."""
    found = {proxy.name: [] for proxy in proxies}
    for _ in range(rounds):
        for proxy in proxies:
            found[proxy.name].append(failures(proxy))
            proxy.forget()
    return found
