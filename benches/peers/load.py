"""The load: wrk for HTTP/1.1, h2load for HTTP/2 over TLS. As many requests are under way at a time with either."""
import os, re, resource, subprocess, time

from . import process

CONNECTIONS = 32
UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}


class Load:
    """What one run came to."""

    def __init__(self, requests, seconds, failed, p50, p99, client):
        self.requests, self.seconds, self.failed, self.p50, self.p99 = requests, seconds, failed, p50, p99
        # The client's CPUs that it kept busy.
        self.client = client
        self.rate = requests / seconds


def run(argv, seconds):
    """Runs a client, and says what it printed, how long it took and how much of a CPU it used."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(argv, capture_output=True, text=True, timeout=seconds + 60,
                          preexec_fn=lambda: os.sched_setaffinity(0, process.OURS))
    after, took = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - began
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode:
        raise SystemExit(f"{' '.join(argv)}: {done.stderr or done.stdout}")
    return done.stdout, used / took


def wrk(port, path, seconds, folder, headers=None, body=None):
    """One thread of wrk. With a body it POSTs."""
    argv = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", "--timeout", "10s"]
    for name, value in (headers or {}).items():
        argv += ["-H", f"{name}: {value}"]
    if body:
        script = os.path.join(folder, "post.lua")
        with open(script, "w") as f:
            f.write(f"wrk.method, wrk.body = 'POST', [==[{body}]==]\n")
        argv += ["-s", script]
    out, client = run([*argv, f"http://127.0.0.1:{port}{path}"], seconds)
    requests, length = re.search(r"(\d+) requests in ([\d.]+)s", out).groups()
    failed = sum(int(n) for errors in re.findall(r"Socket errors: (.+)", out) for n in re.findall(r"\d+", errors))
    failed += sum(int(n) for n in re.findall(r"Non-2xx or 3xx responses: (\d+)", out))
    at = {q: float(n) * UNITS[unit] for q, n, unit in re.findall(r"(50|99)%\s+([\d.]+)([a-z]+)", out)}
    return Load(int(requests), float(length), failed, at["50"], at["99"], client)


def h2load(port, path, seconds, folder, headers=None, body=None):
    """One thread of h2load: eight connections of four streams each."""
    log = os.path.join(folder, "h2load.log")
    if os.path.exists(log):
        os.unlink(log)
    argv = ["h2load", "-t1", "-c8", f"-m{CONNECTIONS // 8}", f"-D{seconds}", f"--log-file={log}",
            f"--connect-to=127.0.0.1:{port}"]
    for name, value in (headers or {}).items():
        argv += ["-H", f"{name}: {value}"]
    out, client = run([*argv, f"https://localhost:{port}{path}"], seconds)
    if "TLSv1.3" not in out or "Application protocol: h2" not in out:
        raise SystemExit(f"h2load did not get TLS 1.3 and HTTP/2:\n{out}")
    good = int(re.search(r"(\d+) 2xx", out).group(1))
    failed, errored = (int(re.search(rf"(\d+) {what}", out).group(1)) for what in ("failed", "errored"))
    # Those that were cut off at the end count as neither.
    other = sum(int(n) for n in re.findall(r"(\d+) [345]xx", out))
    with open(log) as f:
        times = sorted(int(line.split("\t")[2]) for line in f if line.split("\t")[1] == "200")
    at = lambda share: times[int(len(times) * share)] / 1e3
    return Load(good, seconds, failed + errored + other, at(0.5), at(0.99), client)
