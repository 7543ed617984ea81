"""Frontdesk, as the comparison runs it: everything at its default but the limits, which are never reached, and the
concierge, which reads the site and keeps what it read: it is there where it is asked."""
import os, signal, time

from .process import stop
from .proxy import Proxy
from .site import fetch

CALL, TOPIC = "/agent/things", "things_search"


class Frontdesk(Proxy):
    name = "frontdesk"
    log_note = "standard output, to a file; its concierge is on for (f) alone"
    reload_note = "the file is replaced, SIGHUP"

    def __init__(self, site, binary):
        super().__init__(site)
        self.binary = binary

    def write(self, generation=0):
        limits = "".join(f'{what} = "1000000/second"\n' for what in ("anonymous", "authenticated", "content", "site"))
        upstream = f"""url = "https://127.0.0.1:{self.site.secure}"\nca = "{self.site.cert}"\n"""
        if not self.secure:
            upstream = f"""url = "http://127.0.0.1:{self.site.http}"\n"""
        self.replace("toml", f"""[upstream]
{upstream}[listen]
http = "127.0.0.1:{self.http}"
https = "127.0.0.1:{self.https}"
admin = "127.0.0.1:{self.admin}"
[tls]
cert = "{self.site.cert}"
key = "{self.site.key}"
[runtime]
threads = 1
[site]
name = "Bench"
description = "Number {generation}."
[content]
concierge = {"true" if self.keeps else "false"}
[rate_limits]
{limits}[token_budget]
anonymous = "4000000000/session"
daily = "4000000000/day"
[policies.cache]
allowed = true
max_ttl_seconds = 3600
[[capabilities]]
id = "things.search"
type = "query"
description = "Search things."
method = "POST"
endpoint = "{CALL}"
risk_level = "low"
data_sensitivity = "public"
auth = "optional"
input_schema = {{ type = "object", required = ["q"], properties = {{ q = {{ type = "string" }} }} }}
{"cache_ttl_seconds = 3600" if self.keeps else ""}
[capabilities.upstream]
method = "GET"
path = "/thing.json"
[capabilities.ahp]
name = "{TOPIC}"
answer = "{{{{ data.results | length }}}} things; the first is {{{{ data.results[0].name }}}}."
""")

    # Whether answers of the site's to calls are kept, and there is a concierge: only where that is the job.
    keeps = False
    # Whether it makes traces.
    traced = False

    @property
    def environment(self):
        return {} if not self.traced else {
            "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{self.site.collector}",
            "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
            "OTEL_TRACES_SAMPLER_ARG": "0.01",
        }

    def start(self):
        """Waits until it has read the site, which it does once by itself: that is no part of a request."""
        super().start()
        until = time.monotonic() + 3 * self.patience
        while time.monotonic() < until:
            try:
                said = fetch(self.admin, "/readyz?verbose")[2].decode()
            except OSError:
                said = ""
            if "content:" in said and "under way" not in said:
                return self.process
            time.sleep(0.2)
        stop([self.process])
        raise SystemExit(f"frontdesk has not read the site in time:\n{said}")

    def command(self):
        return [self.binary, "run", "--config", self.conf("toml")]

    def reload(self, generation):
        self.write(generation)
        os.kill(self.process.pid, signal.SIGHUP)

    def generation(self):
        """No answer of a site's says so; the contract does."""
        contract = fetch(self.http, "/.well-known/agent-interface.toml")[2].decode()
        return contract.partition('description = "Number ')[2].partition(".")[0]
