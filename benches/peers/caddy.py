"""Caddy on one processor. As it is built it neither limits nor rewrites bodies."""
import subprocess

from .installed import binary
from .proxy import Proxy
from .site import MANIFEST


class Caddy(Proxy):
    name = "caddy"
    cannot = {"b": "needs a plugin to rewrite bodies", "c": "needs a plugin to rewrite bodies"}
    limit_note = "no limit: needs a plugin"
    log_note = "a file, JSON"
    reload_note = "caddy reload"

    @property
    def environment(self):
        return {"GOMAXPROCS": "1", "HOME": self.site.folder, "XDG_DATA_HOME": self.site.folder, "XDG_CONFIG_HOME": self.site.folder}

    def write(self, generation=0):
        site = self.site
        told = "\n".join(f"header {name} `{value}`" for name, value in site.manifest_headers.items())
        self.replace("conf", f"""{{
  admin 127.0.0.1:{self.admin}
  persist_config off
  auto_https disable_redirects
  metrics
  servers {{
    protocols h1 h2
  }}
}}
(site) {{
  bind 127.0.0.1
  log {{
    output file {self.log} {{
      roll_disabled
    }}
    format json
  }}
  handle {MANIFEST} {{
    {told}
    header Content-Type {site.manifest_type}
    respond `{site.manifest.decode()}` 200
  }}
  handle {{
    header +Link `{site.link}`
    {f"header X-Generation {generation}" if generation else ""}
    reverse_proxy 127.0.0.1:{site.http} {{
      header_up X-Real-IP {{remote_host}}
      header_up X-Verified none
      transport http {{
        keepalive_idle_conns_per_host 64
        compression off
      }}
    }}
  }}
}}
http://:{self.http} {{
  import site
}}
https://localhost:{self.https} {{
  tls {site.cert} {site.key}
  import site
}}
""")

    def command(self):
        return [binary("caddy"), "run", "--adapter", "caddyfile", "--config", self.conf("conf")]

    def reload(self, generation):
        self.write(generation)
        subprocess.run([binary("caddy"), "reload", "--adapter", "caddyfile", "--config", self.conf("conf"), "--address",
                        f"127.0.0.1:{self.admin}"], capture_output=True, env=self.environment)
