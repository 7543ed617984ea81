"""What every proxy has: its ports, its files, its process, and what it says it cannot do."""
import os

from . import process
from .site import fetch


class Proxy:
    name = ""
    # What it cannot do: the job's letter, and why.
    cannot = {}
    # Where it does something other than asked: told beneath the table.
    limit_note = "by address"
    log_note = "a file"
    reload_note = ""
    environment = {}
    # How many seconds its start may take.
    patience = 20
    # Whether the site is reached over https.
    secure = False

    def __init__(self, site):
        self.site = site
        self.process = self.http = self.https = self.admin = None

    def conf(self, ending):
        """A file of its configuration. Each has a folder of its own: some watch the whole folder, so no log is in it."""
        os.makedirs(self.site.file(self.name), exist_ok=True)
        return self.site.file(f"{self.name}/{self.name}.{ending}")

    @property
    def log(self):
        return self.site.file(f"{self.name}.log")

    @property
    def errors(self):
        return self.site.file(f"{self.name}.err")

    def replace(self, ending, text):
        """Writes a file of its configuration in one go, as an operator's tool would."""
        with open(self.conf(ending) + ".new", "w") as f:
            f.write(text)
        os.replace(self.conf(ending) + ".new", self.conf(ending))

    def start(self):
        """A fresh process on fresh ports, so that no job has another's memory."""
        self.http, self.https, self.admin = process.port(), process.port(), process.port()
        self.write()
        with open(self.log, "ab") as out, open(self.errors, "ab") as err:
            self.process = process.start(self.command(), process.THEIRS, out, err, self.environment)
        try:
            for port in (self.http, self.https):
                process.listening(self.process, port, (self.errors, self.log), self.patience)
        except SystemExit:
            process.stop([self.process])
            raise
        return self.process

    def forget(self):
        """Empties the log: a disk is not what is measured."""
        os.truncate(self.log, 0)

    def write(self, generation=0):
        """Writes its configuration; another generation differs in a word, so that a reload has something to do."""
        raise NotImplementedError

    def command(self):
        raise NotImplementedError

    def reload(self, generation):
        raise NotImplementedError

    def generation(self):
        """Which configuration is in force."""
        return fetch(self.http, "/thing.json")[1].get("x-generation")
