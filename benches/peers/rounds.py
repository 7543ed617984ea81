"""A job done by everyone in turn, in rounds of random order, so that whatever disturbs the machine disturbs all alike."""
import random, statistics, sys, time

from . import load, process


class Row:
    """One proxy at one job."""

    def __init__(self, label, proxy, job):
        self.label, self.proxy, self.job, self.loads, self.costs, self.busy = label, proxy, job, [], [], []
        self.resident = self.size = 0

    def once(self, seconds):
        pid, site, job = self.proxy.process.pid, self.proxy.site, self.job
        before, began = process.cpu(pid), time.monotonic()
        done = job.client(job.at(self.proxy), job.path, seconds, site.folder, job.headers, job.body)
        spent, took = process.cpu(pid) - before, time.monotonic() - began
        self.proxy.forget()
        return done, spent / max(done.requests, 1) * 1e6, spent / took

    def round(self, seconds):
        done, cost, busy = self.once(seconds)
        self.loads.append(done)
        self.costs.append(cost)
        self.busy.append(busy)

    def median(self, of):
        return statistics.median(getattr(one, of) for one in self.loads)

    @property
    def cost(self):
        return statistics.median(self.costs)

    @property
    def failed(self):
        return sum(one.failed for one in self.loads)

    def beside(self, base):
        """CPU, rate and p99 as ratios to the base's of the same round: the median, the least and the most of each."""
        three = lambda ratios: (statistics.median(ratios), min(ratios), max(ratios))
        pairs = list(zip(self.loads, base.loads))
        return {
            "cpu": three([a / b for a, b in zip(self.costs, base.costs)]),
            "rate": three([a.rate / b.rate for a, b in pairs]),
            "p99": three([a.p99 / b.p99 for a, b in pairs]),
        }


class Direct:
    """The site without a proxy, with the same client on the same CPUs."""

    def __init__(self, job, site):
        self.job, self.site, self.loads = job, site, []

    def round(self, seconds):
        port = self.site.https if self.job.client is load.h2load else self.site.http
        self.loads.append(self.job.client(port, self.job.direct or self.job.path, seconds, self.site.folder,
                                          {"Accept-Encoding": "gzip"} if self.job.letter == "c" else {}))

    @property
    def rate(self):
        return statistics.median(one.rate for one in self.loads)


class Done:
    """A job's rows, with what they are measured against."""

    def __init__(self, job, rows, direct, base):
        self.job, self.rows, self.direct, self.base = job, rows, direct, base

    @property
    def client(self):
        """The most of a CPU that the client ever used."""
        return max(one.client for row in self.rows for one in row.loads)


def measure(job, rows, site, rounds, seconds):
    """Starts them afresh, warms them up, and drives them in turn."""
    direct, started = Direct(job, site), []
    try:
        for proxy in {id(row.proxy): row.proxy for row in rows}.values():
            started.append(proxy.start())
        for row in rows:
            row.size = row.job.right(row.proxy, site)
        # What they do by themselves after a start (reading the site, say) is over by then.
        time.sleep(1)
        for row in rows:
            row.once(1)
        for n in range(rounds):
            for one in random.sample([*rows, direct], len(rows) + 1):
                one.round(seconds)
            if sys.stderr.isatty():
                print(f"  ({job.letter}) round {n + 1} of {rounds}", end="\r", file=sys.stderr, flush=True)
        for row in rows:
            row.resident = process.resident(row.proxy.process.pid)
    finally:
        process.stop(started)
    # In (e) and (f) the first row is Frontdesk at (a).
    base = next((row for row in rows if row.label in ("nginx", "passed through, as (a)")), rows[0])
    return Done(job, rows, direct, base)
