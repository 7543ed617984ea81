"""Envoy with one worker. Pages go through its Lua filter, chunk by chunk."""
import json

from .installed import binary
from .proxy import Proxy
from .site import MANIFEST

HTTP = "type.googleapis.com/envoy.extensions.filters.http"
FIELDS = {
    "timestamp": "%START_TIME%", "method": "%REQ(:METHOD)%", "path": "%REQ(:PATH)%", "host": "%REQ(:AUTHORITY)%",
    "status": "%RESPONSE_CODE%", "version": "%PROTOCOL%", "client": "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%",
    "user_agent": "%REQ(USER-AGENT)%", "request": "%BYTES_RECEIVED%", "response": "%BYTES_SENT%",
    "duration": "%DURATION%", "upstream": "%UPSTREAM_HOST%", "upstream_duration": "%RESPONSE_DURATION%",
}
LUA = """function envoy_on_response(handle)
  if handle:headers():get("content-type") ~= "text/html" then return end
  handle:headers():remove("content-length")
  local done = false
  for chunk in handle:bodyChunks() do
    if not done then
      local text = chunk:getBytes(0, chunk:length())
      local at = text:find("</body>", 1, true)
      if at then
        chunk:setBytes(text:sub(1, at - 1) .. %s .. text:sub(at))
        done = true
      end
    end
  end
end"""


def library(kind):
    """A compression library of Envoy's, at the level that the others have."""
    base = "type.googleapis.com/envoy.extensions.compression.gzip"
    more = {"compression_level": "COMPRESSION_LEVEL_1"} if kind == "compressor" else {}
    return {"name": "gzip", "typed_config": {"@type": f"{base}.{kind}.v3.Gzip", **more}}


class Envoy(Proxy):
    name = "envoy"
    limit_note = "local_ratelimit, one bucket for all"
    log_note = "a file, JSON"
    reload_note = "the file of routes is replaced (RDS)"

    def routes(self, generation):
        add = lambda headers: [{"header": {"key": k, "value": v}} for k, v in headers.items()]
        match = {"path": MANIFEST}, {"prefix": "/"}
        answer = {"status": 200, "body": {"inline_string": self.site.manifest.decode()}}
        told = {**self.site.manifest_headers, "content-type": self.site.manifest_type}
        added = {"link": self.site.link, **({"x-generation": str(generation)} if generation else {})}
        return {"@type": "type.googleapis.com/envoy.config.route.v3.RouteConfiguration", "name": "site", "virtual_hosts": [{
            "name": "site", "domains": ["*"], "routes": [
                {"match": match[0], "direct_response": answer, "response_headers_to_add": [
                    {**header, "append_action": "OVERWRITE_IF_EXISTS_OR_ADD"} for header in add(told)]},
                {"match": match[1], "route": {"cluster": "site"}, "response_headers_to_add": add(added),
                 "request_headers_to_add": add({"x-forwarded-host": "%REQ(:AUTHORITY)%", "via": "1.1 envoy",
                     "x-real-ip": "%DOWNSTREAM_REMOTE_ADDRESS_WITHOUT_PORT%", "x-verified": "none"})}]}]}

    def filters(self):
        always = {"default_value": {"numerator": 100, "denominator": "HUNDRED"}}
        yield {"name": "limit", "typed_config": {"@type": f"{HTTP}.local_ratelimit.v3.LocalRateLimit", "stat_prefix": "limit",
            "token_bucket": {"max_tokens": 1000000, "tokens_per_fill": 1000000, "fill_interval": "1s"},
            "filter_enabled": always, "filter_enforced": always}}
        if self.pages:
            yield {"name": "zip", "typed_config": {"@type": f"{HTTP}.compressor.v3.Compressor", "compressor_library": library("compressor")}}
            yield {"name": "lua", "typed_config": {"@type": f"{HTTP}.lua.v3.Lua",
                "default_source_code": {"inline_string": LUA % f"[==[{self.site.added}]==]"}}}
            yield {"name": "unzip", "typed_config": {"@type": f"{HTTP}.decompressor.v3.Decompressor", "decompressor_library": library("decompressor")}}
        yield {"name": "router", "typed_config": {"@type": f"{HTTP}.router.v3.Router"}}

    # Whether pages are rewritten: only where that is the job, for every answer goes through these filters.
    pages = False

    def listener(self, name, port, **more):
        manager = {"@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
            "stat_prefix": name, "use_remote_address": True, "http_filters": list(self.filters()),
            "access_log": [{"name": "file", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.access_loggers.file.v3.FileAccessLog",
                "path": self.log, "log_format": {"json_format": FIELDS}}}],
            "rds": {"route_config_name": "site", "config_source": {"resource_api_version": "V3",
                "path_config_source": {"path": self.conf("routes.json")}}}}
        return {"name": name, "address": self.at(port),
                "filter_chains": [{"filters": [{"name": "http", "typed_config": manager}], **more}]}

    @staticmethod
    def at(port):
        return {"socket_address": {"address": "127.0.0.1", "port_value": port}}

    def write(self, generation=0):
        routes = {"version_info": str(generation), "resources": [self.routes(generation)]}
        self.replace("routes.json", json.dumps(routes))
        if generation:
            return
        certificate = {"certificate_chain": {"filename": self.site.cert}, "private_key": {"filename": self.site.key}}
        tls = {"name": "tls", "typed_config": {"@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
            "common_tls_context": {"tls_certificates": [certificate], "alpn_protocols": ["h2", "http/1.1"],
                "tls_params": {"tls_minimum_protocol_version": "TLSv1_3", "tls_maximum_protocol_version": "TLSv1_3"}}}}
        self.replace("json", json.dumps({
            "node": {"id": "bench", "cluster": "bench"},
            "admin": {"address": self.at(self.admin)},
            "static_resources": {
                "listeners": [self.listener("http", self.http), self.listener("https", self.https, transport_socket=tls)],
                "clusters": [{"name": "site", "connect_timeout": "1s", "load_assignment": {"cluster_name": "site",
                    "endpoints": [{"lb_endpoints": [{"endpoint": {"address": self.at(self.site.http)}}]}]}}]}}))

    def command(self):
        return [binary("envoy"), "--concurrency", "1", "-c", self.conf("json"), "--log-level", "error", "--disable-hot-restart"]

    def reload(self, generation):
        self.write(generation)
