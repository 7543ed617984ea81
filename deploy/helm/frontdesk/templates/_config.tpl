{{/* A value as a string of TOML: the same escapes as JSON's. */}}
{{- define "frontdesk.toml" -}}
{{- mustToRawJson (toString .) -}}
{{- end -}}

{{/* frontdesk.toml: the tables that have to fit the manifests, and extraConfig; or the file that was given. */}}
{{- define "frontdesk.config" -}}
{{- if .Values.config -}}
{{ .Values.config }}
{{- else -}}
{{- $s := index .Values .Values.mode -}}
{{- $all := ternary "[::]" "0.0.0.0" .Values.ipv6 -}}
# Written by the Helm chart. `helm upgrade` changes it, and the running pods take the change over. A file with mistakes
# keeps the running configuration and raises FrontdeskConfigNotTaken.

[listen]
http = "{{ $all }}:8080"
# The kubelet probes the pod's address, so it cannot be loopback.
admin = "{{ $all }}:9901"
trusted_proxies = {{ mustToRawJson .Values.trustedProxies }}

[admin]
token_sha256 = "${ADMIN_TOKEN_SHA256:-}"

[upstream]
url = {{ include "frontdesk.toml" $s.upstream.url }}
{{- with $s.upstream.healthPath }}
health_path = {{ include "frontdesk.toml" . }}
{{- end }}

[runtime]
threads = {{ int .Values.threads }}

[content]
concierge = {{ $s.concierge }}
{{- if $s.concierge }}
max_pages = {{ int $s.maxPages }}
{{- end }}

[protection]
max_connections = {{ int $s.maxConnections }}
max_recoding = {{ int $s.maxRecoding }}
shutdown_delay = "{{ include "frontdesk.shutdownDelay" . }}s"
shutdown_timeout = "{{ int $s.shutdownTimeout }}s"

[store]
{{- if eq $s.store "memory" }}
url = "memory:"
max_keys = 50000
max_records = "8MB"
{{- else if eq $s.store "bundled" }}
url = "redis://{{ include "frontdesk.fullname" . }}-redis:6379/0"
# It has none.
wait_replicas = 0
on_error = "local"
{{- else }}
{{- if .Values.redis.external.existingSecret }}
url = "${REDIS_URL}"
{{- else }}
url = {{ include "frontdesk.toml" .Values.redis.external.url }}
{{- end }}
{{- if not (kindIs "invalid" .Values.redis.external.waitReplicas) }}
wait_replicas = {{ int .Values.redis.external.waitReplicas }}
{{- end }}
on_error = "local"
{{- end }}
{{- with .Values.extraConfig }}

{{ . }}
{{- end }}
{{- end }}
{{- end -}}
