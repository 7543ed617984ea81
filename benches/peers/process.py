"""Processes and what they use: the figures are the kernel's own, from /proc, so every proxy is measured alike."""
import os, signal, socket, subprocess, time

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
# A proxy has a CPU for itself; the client and the site share the others. So it is the proxy that is the ceiling.
CPUS = sorted(os.sched_getaffinity(0))
THEIRS, OURS = ({CPUS[0]}, set(CPUS[1:])) if len(CPUS) > 1 else (set(CPUS), set(CPUS))


def port():
    """A port on which no process listens."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def family(pid):
    """A process and all its descendants."""
    found = [pid]
    for parent in found:
        try:
            for task in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{task}/children") as f:
                    found += [int(child) for child in f.read().split()]
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def cpu(pid):
    """User and system seconds of a process and its descendants."""
    ticks = 0
    for p in family(pid):
        try:
            with open(f"/proc/{p}/stat") as f:
                fields = f.read().rsplit(")", 1)[1].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / TICK


def resident(pid):
    """Resident bytes of a process and its descendants; what they share is counted in each."""
    pages = 0
    for p in family(pid):
        try:
            with open(f"/proc/{p}/statm") as f:
                pages += int(f.read().split()[1])
        except (FileNotFoundError, ProcessLookupError):
            pass
    return pages * PAGE


def start(argv, cpus=None, out=subprocess.DEVNULL, err=subprocess.DEVNULL, env=None):
    """Starts a process, on these CPUs if they are given."""
    pin = (lambda: os.sched_setaffinity(0, cpus)) if cpus else None
    return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err, preexec_fn=pin,
                            env={**os.environ, **(env or {})})


def stop(processes):
    """Ends them all, and waits for it."""
    for process in processes:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    deadline = time.monotonic() + 8
    for process in processes:
        try:
            process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            for pid in reversed(family(process.pid)):
                os.kill(pid, signal.SIGKILL)
            process.wait()


def listening(process, at, said=(), seconds=20):
    """Waits until a process accepts connections at this port; it should be this one. `said`: files it writes to."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", at), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    last = ""
    for name in said:
        with open(name) as f:
            last += f.read()[-1500:]
    raise SystemExit(f"{process.args[0]} does not listen on {at} (ended: {process.poll()})\n{last}")
