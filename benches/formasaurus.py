"""Real pages with forms, sorted by people: the training data of formasaurus 0.10.0, which pip downloads."""
import contextlib, json, os, pathlib, subprocess, sys, tarfile, tempfile


@contextlib.contextmanager
def data():
    """The folder with the pages and index.json: FORMASAURUS, else a temporary one."""
    if "FORMASAURUS" in os.environ:
        yield pathlib.Path(os.environ["FORMASAURUS"])
        return
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        subprocess.run([*pip, "--dest", folder, "formasaurus==0.10.0"], check=True)
        with tarfile.open(next(pathlib.Path(folder).glob("formasaurus-*"))) as packed:
            packed.extractall(folder, filter="data")
        yield next(pathlib.Path(folder).glob("formasaurus-*/formasaurus/data"))


def index(folder):
    """What people say of each page, by the page's file."""
    return json.loads((folder / "index.json").read_text(encoding="utf-8"))


def page(folder, name):
    """The text of a page. The package wrote most as UTF-8, whatever the page itself says."""
    raw = (folder / name).read_bytes()
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("iso-8859-1")
