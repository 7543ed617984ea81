"""Traefik on one processor. It answers nothing by itself and does not rewrite bodies."""
import json

from .installed import binary
from .proxy import Proxy


class Traefik(Proxy):
    name = "traefik"
    cannot = {"b": "needs a plugin to rewrite bodies", "c": "needs a plugin to rewrite bodies",
              "d": "answers nothing by itself"}
    limit_note = "rateLimit by address"
    log_note = "a file, JSON, bufferingSize=1000"
    reload_note = "the file of routers is replaced"
    environment = {"GOMAXPROCS": "1"}

    def write(self, generation=0):
        site = self.site
        headers = {"Link": site.link, **({"X-Generation": str(generation)} if generation else {})}
        router = {"rule": "PathPrefix(`/`)", "service": "site", "middlewares": ["limit", "headers"]}
        # JSON is YAML too.
        self.replace("yaml", json.dumps({
            "http": {
                "routers": {"plain": {**router, "entryPoints": ["plain"]}, "secure": {**router, "entryPoints": ["secure"], "tls": {}}},
                "middlewares": {
                    "limit": {"rateLimit": {"average": 1000000, "period": "1s", "burst": 1000000}},
                    "headers": {"headers": {"customResponseHeaders": headers,
                                            "customRequestHeaders": {"Via": "1.1 traefik", "X-Verified": "none"}}}},
                "services": {"site": {"loadBalancer": {"servers": [{"url": f"http://127.0.0.1:{site.http}"}]}}}},
            "tls": {"certificates": [{"certFile": site.cert, "keyFile": site.key}],
                    "stores": {"default": {"defaultCertificate": {"certFile": site.cert, "keyFile": site.key}}}}}))

    def command(self):
        return [binary("traefik"), f"--entrypoints.plain.address=127.0.0.1:{self.http}",
                f"--entrypoints.secure.address=127.0.0.1:{self.https}", f"--entrypoints.metrics.address=127.0.0.1:{self.admin}",
                f"--providers.file.filename={self.conf('yaml')}", "--providers.file.watch=true", "--providers.providersThrottleDuration=0s",
                "--metrics.prometheus=true", "--metrics.prometheus.entrypoint=metrics", "--log.level=ERROR",
                "--accesslog=true", f"--accesslog.filepath={self.log}", "--accesslog.format=json", "--accesslog.bufferingsize=1000",
                "--global.checknewversion=false", "--global.sendanonymoususage=false"]

    def reload(self, generation):
        self.write(generation)
