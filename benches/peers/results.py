"""The tables, printed and written: what was measured, beside what is aimed at, and where a proxy did something else."""
import statistics

from . import idle, load, process, reloads

IDLE_TARGET = 19


def verdict(value, target):
    return f"{'≤' if value <= target else '**missed:** >'} {target:g}"


def aimed(done, row):
    """What a row of Frontdesk's is held against."""
    job, said = done.job, []
    if row is done.base:
        return said
    ratios = row.beside(done.base)
    beside = "nginx's" if done.base.label == "nginx" else "its own at (a)"
    if job.target:
        said.append(f"CPU {ratios['cpu'][0]:.2f} × {beside} ({verdict(round(ratios['cpu'][0], 2), job.target)})")
    if job.p99 and done.base.label == "nginx":
        said.append(f"p99 {ratios['p99'][0]:.2f} × {beside} ({verdict(round(ratios['p99'][0], 2), job.p99)})")
    if job.resident:
        said.append(f"resident {row.resident / 1e6:.1f} MB ({verdict(row.resident / 1e6, job.resident)})")
    return said


def table(done, left_out):
    """One job."""
    job = done.job
    lines = [f"## ({job.letter}) {job.title}", ""]
    lines += ["| | requests/s | × | CPU µs/request | × (least to most) | p50 ms | p99 ms | p99 × | resident MB | of its CPU | bytes | failed |",
              "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for row in done.rows:
        ratios = row.beside(done.base)
        cpu, rate, p99 = ratios["cpu"], ratios["rate"][0], ratios["p99"][0]
        lines.append(f"| {row.label} | {row.median('rate'):,.0f} | {rate:.2f} | {row.cost:.1f} | "
                     f"{cpu[0]:.2f} ({cpu[1]:.2f} to {cpu[2]:.2f}) | {row.median('p50'):.2f} | {row.median('p99'):.2f} | {p99:.2f} | "
                     f"{row.resident / 1e6:.1f} | {statistics.median(row.busy):.0%} | {row.size:,} | {row.failed} |")
    lines += [f"| {name} | n/a: {why} | | | | | | | | | | |" for name, why in left_out]
    fastest = max(row.median("rate") for row in done.rows)
    idlest = min(statistics.median(row.busy) for row in done.rows)
    proven = (done.direct.rate > 1.15 * fastest or not job.asks) and done.client < 0.95 or idlest > 0.9
    lines += ["", (f"The site itself, by the same client on the same CPU: {done.direct.rate:,.0f} requests/s, {done.direct.rate / fastest:.1f} × "
                   f"the fastest proxy. " if job.asks else "The site is not asked. ") +
              f"The client used at most {done.client:.0%} of a CPU, each proxy at least {idlest:.0%} of its own: "
              + ("neither client nor site is the ceiling." if proven else "**the client may be the ceiling: go by CPU a request.**")]
    for row in done.rows:
        said = aimed(done, row) if row.label.startswith("frontdesk") else []
        if said:
            lines.append(f"Aim, F{row.label[1:]}: {'; '.join(said)}.")
    return lines + [""]


def idle_table(found):
    lines = [f"## (h) Idle connections", "", "| | KB a connection | × | least to most | resident MB before | after |",
             "|---|--:|--:|--:|--:|--:|"]
    medians = {name: statistics.median(run[0] for run in runs) / 1024 for name, runs in found.items()}
    base = medians.get("nginx")
    for name, runs in found.items():
        each = [run[0] / 1024 for run in runs]
        beside = f"{medians[name] / base:.1f}" if base else ""
        lines.append(f"| {name} | {medians[name]:.1f} | {beside} | {min(each):.1f} to {max(each):.1f} | "
                     f"{statistics.median(run[1] for run in runs) / 1e6:.1f} | {statistics.median(run[2] for run in runs) / 1e6:.1f} |")
    lines += ["", f"{idle.COUNT:,} connections, each kept after one answer of 1 KB; growth of resident memory (the kernel's buffers are not in it)."]
    if "frontdesk" in medians:
        kb = medians["frontdesk"]
        lines.append("Aim, Frontdesk: " + (f"{kb:.1f} KB ({verdict(round(kb, 1), IDLE_TARGET)})." if kb > 0 else
                     "**no figure:** resident memory shrank meanwhile, so the allocator held more than the connections needed."))
    return lines + [""]


def reload_table(found, proxies):
    lines = ["## (i) Reload under load", "", "| | failed | of | p50 ms | p99 ms | by |", "|---|--:|--:|--:|--:|---|"]
    for proxy in proxies:
        runs = found[proxy.name]
        lines.append(f"| {proxy.name} | {sum(run.failed for run in runs)} | {sum(run.requests for run in runs):,} | "
                     f"{statistics.median(run.p50 for run in runs):.2f} | {statistics.median(run.p99 for run in runs):.2f} | {proxy.reload_note} |")
    return lines + ["", f"{reloads.TIMES} reloads, one each {reloads.EVERY} s, each with something changed and in force afterwards; the load is "
                    f"(a)'s. Failed: connections closed on a request, and answers that are none.", ""]


def head(machine, versions, proxies, rounds, seconds):
    """On what, with what, how."""
    pinned = "the proxy has a CPU for itself, client and site share the rest" if process.THEIRS != process.OURS else "one CPU for all"
    lines = ["# Frontdesk beside its peers", "", "Written by `benches/compare`; not to be edited.", ""]
    lines += [f"- **Machine.** {machine['processor']}, {machine['memory']}, {machine['kernel']}; load average before: {machine['load before']}.",
              f"- **Versions.** {', '.join(f'{name} {version}' for name, version in versions.items())}.",
              f"- **How.** {rounds} rounds in random order, {seconds} s each after a warm-up, over loopback; {pinned}. One worker each "
              f"(`threads = 1`, `worker_processes 1`, `nbthread 1`, `--concurrency 1`, `GOMAXPROCS=1`), a fresh process for each job. "
              f"{load.CONNECTIONS} requests under way: wrk with one thread and {load.CONNECTIONS} connections, h2load with 8 connections of 4 streams.",
              "- **Figures.** Medians of the rounds; ratios are taken within a round, then their median. CPU is user and system "
              "time of the proxy and all its children, from /proc/PID/stat. p99 is at full load, where waiting for the CPU is most of it. "
              "Resident memory is after the load; what master and worker share counts in both.",
              "- **The same job.** Link, notice, manifest and its headers are byte for byte Frontdesk's; the site is told the same "
              "`X-Forwarded-*`, `X-Real-IP` and `Via`; connections to it are kept alive; metrics are on; the access log is on, one line a "
              "request, to files that are emptied between the runs."]
    lines += [f"  - {proxy.name}: limit: {proxy.limit_note}; log: {proxy.log_note}" for proxy in proxies]
    return lines + [""]
