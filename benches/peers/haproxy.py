"""HAProxy: one thread beside its master. It puts headers on, but does not rewrite bodies."""
import os, signal

from .proxy import Proxy
from .site import MANIFEST

FIELDS = {
    "timestamp": "%tr", "method": "%HM", "path": "%HP", "host": "%[capture.req.hdr(0)]", "status": "%ST", "version": "%HV",
    "client": "%ci", "user_agent": "%[capture.req.hdr(1)]", "request": "%U", "response": "%B", "duration": "%Ta",
    "upstream": "%s", "upstream_duration": "%Tr",
}


class Haproxy(Proxy):
    name = "haproxy"
    cannot = {"b": "does not rewrite bodies", "c": "does not rewrite bodies"}
    limit_note = "stick-table http_req_rate by address"
    log_note = "standard output, JSON, to a file"
    reload_note = "SIGUSR2 to the master"

    def write(self, generation=0):
        site = self.site
        told = " ".join(f"hdr {name} '{value}'" for name, value in site.manifest_headers.items())
        line = "{" + ",".join(f'"{name}":"{value}"' for name, value in FIELDS.items()) + "}"
        with open(self.conf("pem"), "wb") as pem:
            for part in (site.cert, site.key):
                with open(part, "rb") as f:
                    pem.write(f.read())
        self.replace("conf", f"""global
  nbthread 1
  maxconn 4000
  log stdout format raw local0
  stats socket {self.conf("sock")} level admin expose-fd listeners
defaults
  mode http
  log global
  timeout connect 1s
  timeout client 60s
  timeout server 30s
  timeout http-keep-alive 60s
  http-reuse always
frontend site
  bind 127.0.0.1:{self.http}
  bind 127.0.0.1:{self.https} ssl crt {self.conf("pem")} alpn h2,http/1.1 ssl-min-ver TLSv1.3
  capture request header Host len 64
  capture request header User-Agent len 128
  log-format '{line}'
  stick-table type ip size 1m expire 10s store http_req_rate(1s)
  http-request track-sc0 src
  http-request deny deny_status 429 if {{ sc_http_req_rate(0) gt 1000000 }}
  http-request return status 200 content-type {site.manifest_type} file {site.file("manifest.json")} {told} if {{ path {MANIFEST} }}
  http-request set-header X-Forwarded-For %[src]
  http-request set-header X-Forwarded-Proto https if {{ ssl_fc }}
  http-request set-header X-Forwarded-Proto http if !{{ ssl_fc }}
  http-request set-header X-Forwarded-Host %[req.hdr(host)]
  http-request set-header X-Real-IP %[src]
  http-request set-header Via '1.1 haproxy'
  http-request set-header X-Verified none
  http-response add-header Link '{site.link}'
  {f"http-response set-header X-Generation {generation}" if generation else ""}
  default_backend site
backend site
  server site 127.0.0.1:{site.http}
frontend metrics
  bind 127.0.0.1:{self.admin}
  no log
  http-request use-service prometheus-exporter if {{ path /metrics }}
""")

    def command(self):
        return ["haproxy", "-W", "-f", self.conf("conf")]

    def reload(self, generation):
        self.write(generation)
        os.kill(self.process.pid, signal.SIGUSR2)
