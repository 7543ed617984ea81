"""nginx, the base of all ratios: one worker beside its master.

Its access log is buffered as Frontdesk's is; without `buffer` it writes once a request. It cannot unzip for a client
that takes gzip, so for the zipped page it asks itself through a socket file, as its operators do.
"""
import os, signal

from .proxy import Proxy
from .site import MANIFEST

FIELDS = {
    "timestamp": "$time_iso8601", "method": "$request_method", "path": "$uri", "host": "$host", "status": "$status",
    "version": "$server_protocol", "client": "$remote_addr", "user_agent": "$http_user_agent", "request": "$content_length",
    "response": "$body_bytes_sent", "duration": "$request_time", "upstream": "$upstream_addr",
    "upstream_duration": "$upstream_response_time",
}
# What the site is told, in the words of Frontdesk's own.
FORWARDED = """proxy_set_header Connection ""; proxy_set_header Host $http_host;
    proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto $scheme;
    proxy_set_header X-Forwarded-Host $http_host; proxy_set_header X-Real-IP $remote_addr;
    proxy_set_header Via "1.1 nginx"; proxy_set_header X-Verified none;"""


def quoted(text):
    """As a word of nginx's. A dollar would begin a variable, and has no other spelling."""
    assert "$" not in text, text
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


class Nginx(Proxy):
    name = "nginx"
    limit_note = "limit_req by address"
    log_note = "a file, JSON, buffer=64k flush=1s"
    reload_note = "SIGHUP to the master, as nginx -s reload does"

    @property
    def manifest(self):
        """How it is answered: a file, as sites do."""
        return f"alias {self.site.folder}/manifest.json;"

    def write(self, generation=0):
        site, folder = self.site, self.site.folder
        fields = ",".join(f'"{name}":"{value}"' for name, value in FIELDS.items())
        told = "".join(f"add_header {name} {quoted(value)};" for name, value in site.manifest_headers.items())
        substitution = f"sub_filter_once on; sub_filter '</body>' {quoted(site.added + '</body>')};"
        temporary = "".join(f"{what}_temp_path {folder}/{what}-{self.name};"
                            for what in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        self.replace("conf", f"""worker_processes 1; daemon off; pid {folder}/{self.name}.pid; error_log stderr crit;
worker_rlimit_nofile 20000; events {{ worker_connections 10000; }}
http {{
  {temporary} types {{ text/html html; application/json json; }}
  sendfile on; tcp_nopush on; keepalive_requests 1000000000;
  log_format line escape=json '{{{fields}}}'; access_log {self.log} line buffer=64k flush=1s;
  limit_req_zone $binary_remote_addr zone=site:10m rate=1000000r/s;
  upstream site {{ server 127.0.0.1:{site.secure if self.secure else site.http}; keepalive 64; keepalive_requests 1000000000; }}
  proxy_ssl_trusted_certificate {site.cert}; proxy_ssl_verify on; proxy_ssl_name localhost; proxy_ssl_protocols TLSv1.3;
  upstream unzipped {{ server unix:{folder}/{self.name}.sock; keepalive 64; keepalive_requests 1000000000; }}
  proxy_http_version 1.1; proxy_buffer_size 8k; proxy_buffers 16 8k;
  server {{
    listen unix:{folder}/{self.name}.sock; access_log off; gunzip on;
    proxy_set_header Connection ""; proxy_set_header Accept-Encoding gzip; proxy_set_header Host $http_host;
    location / {{ proxy_pass http://site; }}
  }}
  server {{
    listen 127.0.0.1:{self.http} backlog=4096; listen 127.0.0.1:{self.https} ssl http2;
    ssl_certificate {site.cert}; ssl_certificate_key {site.key}; ssl_protocols TLSv1.3;
    limit_req zone=site burst=1000000 nodelay; limit_req_status 429;
    add_header Link {quoted(site.link)} always; {f"add_header X-Generation {generation};" if generation else ""}
    {FORWARDED}
    location / {{ proxy_pass http{"s" if self.secure else ""}://site; }}
    location /plain/ {{ proxy_pass http://site; {substitution} }}
    location /small/ {{
      proxy_pass http://unzipped; {FORWARDED} proxy_set_header Accept-Encoding "";
      gzip on; gzip_proxied any; gzip_vary on; {substitution}
    }}
    location = {MANIFEST} {{ default_type {site.manifest_type}; types {{ }} {told} {self.manifest} }}
  }}
  server {{ listen 127.0.0.1:{self.admin}; access_log off; location = /metrics {{ stub_status; }} }}
}}
""")

    def command(self):
        return ["nginx", "-c", self.conf("conf"), "-p", self.site.folder]

    def reload(self, generation):
        self.write(generation)
        os.kill(self.process.pid, signal.SIGHUP)


class Returning(Nginx):
    """The manifest out of nginx's memory. `return` comes before limit_req, so nothing is limited."""

    name = "nginx-return"
    limit_note = "none: return comes before limit_req"
    cannot = {letter: "only beside (d)" for letter in "abcefghijk"}

    @property
    def manifest(self):
        return f"return 200 {quoted(self.site.manifest.decode())};"
