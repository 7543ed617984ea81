"""Gets what the applications consist of, from PyPI, npm and Debian, into one directory. What is there is kept."""

import hashlib
import json
import os
import pathlib
import shutil
import subprocess

from world import Broken

HERE = pathlib.Path(__file__).resolve().parent
BROWSER = ["playwright-core@1.65.1", "pngjs@7.0.0"]
NPM = ["npm", "install", "--loglevel=error", "--no-progress", "--no-audit", "--no-fund"]


def run(command, directory=None, **env):
    done = subprocess.run([str(part) for part in command], cwd=directory, env={**os.environ, **env}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise Broken(f"{command[0]} ended with {done.returncode}:\n{done.stdout[-2000:]}")


def done(directory, wanted):
    """Whether `directory` was made from exactly `wanted`."""
    mark = directory / ".made-from"
    return mark.exists() and mark.read_text() == wanted


def mark(directory, wanted):
    (directory / ".made-from").write_text(wanted)


def browser(at):
    """The packages that drive Chromium."""
    directory = at / "browser"
    if not done(directory, str(BROWSER)):
        directory.mkdir(parents=True, exist_ok=True)
        run([*NPM, "--prefix", directory, *BROWSER])
        mark(directory, str(BROWSER))
    return directory


def there(need):
    tool, _, extension = need.partition(":")
    if not shutil.which(tool):
        return False
    return not extension or extension in subprocess.run([tool, "-m"], capture_output=True, text=True).stdout.split()


def chromium():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if found := shutil.which(name):
            return found
    return None


def python(at, name, *wanted):
    """A virtual environment with these; answers its bin directory."""
    directory = at / f"{name}-venv"
    if not done(directory, str(wanted)):
        run(["python3", "-m", "venv", "--clear", directory])
        run([directory / "bin/pip", "install", "--quiet", "--disable-pip-version-check", *wanted])
        mark(directory, str(wanted))
    return directory / "bin"


def built(at, name, source, **versions):
    """A copy of tests/apps/SOURCE with its packages, some perhaps of other versions, built for production."""
    source, directory = HERE / source, at / name
    files = sorted(file for file in source.rglob("*") if file.is_file())
    wanted = "\n".join(f"{file.relative_to(source)} {hash_of(file)}" for file in files)
    wanted += str(versions)
    if not done(directory, wanted):
        for file in files:
            target = directory / file.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
        package = json.loads((directory / "package.json").read_text())
        package["dependencies"].update({name.replace("_", "-"): version for name, version in versions.items()})
        (directory / "package.json").write_text(json.dumps(package))
        run(NPM, directory)
        run(["npm", "run", "--silent", "build"], directory, NEXT_TELEMETRY_DISABLED="1")
        mark(directory, wanted)
    return directory


def hash_of(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


def debian(at, name, *packages):
    """Debian packages of the newest version, unpacked and not installed: nothing of the system changes."""
    directory = at / f"{name}-root"
    if not done(directory, str(packages)):
        shutil.rmtree(directory, ignore_errors=True)
        archives = at / f"{name}-archives"
        shutil.rmtree(archives, ignore_errors=True)
        archives.mkdir(parents=True)
        # apt-get has a user of its own, who cannot write here.
        run(["apt-get", "download", "-qq", "-o", "APT::Sandbox::User=root", *packages], archives)
        for package in packages:
            run(["dpkg-deb", "-x", next(archives.glob(f"{package}_*.deb")), directory])
        mark(directory, str(packages))
    return directory


def relocated(unpacked, directory):
    """A copy of what `debian` unpacked whose files, which name each other by absolute paths, find each other there."""
    shutil.copytree(unpacked, directory, symlinks=True)
    for file in directory.rglob("*"):
        if file.is_symlink():
            target = os.readlink(file)
            if target.startswith("/") and (directory / target[1:]).parent.exists():
                file.unlink()
                file.symlink_to(directory / target[1:])
        elif file.suffix in (".php", ".inc") and file.is_file():
            text = file.read_bytes()
            for top in (b"/usr/share/", b"/etc/", b"/var/lib/"):
                for quote in (b"'", b'"'):
                    text = text.replace(quote + top, quote + bytes(directory) + top)
            file.write_bytes(text)
    return directory


def npm_archive(at, wanted):
    """One npm package, unpacked as it is, without what it depends on."""
    directory = at / wanted.rpartition("@")[0].replace("/", "-").strip("@")
    if not done(directory, wanted):
        directory.mkdir(parents=True, exist_ok=True)
        run(["npm", "pack", "--silent", wanted], directory)
        shutil.unpack_archive(next(directory.glob("*.tgz")), directory)
        mark(directory, wanted)
    return directory
