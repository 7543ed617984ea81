{{/*
For your own chart, which has this one as a dependency with `mode: sidecar`. The context is that of the dependency:
.Subcharts.frontdesk. README.md has the Deployment that they go into.

Items of the pod's initContainers: a native sidecar, or nothing.
*/}}
{{- define "frontdesk.sidecar.initContainers" -}}
{{- if eq (include "frontdesk.native" .) "true" -}}
- {{ include "frontdesk.container" . | nindent 2 | trim }}
{{- end -}}
{{- end -}}

{{/* Items of the pod's containers: a classic sidecar, or nothing. */}}
{{- define "frontdesk.sidecar.containers" -}}
{{- if ne (include "frontdesk.native" .) "true" -}}
- {{ include "frontdesk.container" . | nindent 2 | trim }}
{{- end -}}
{{- end -}}

{{/* Items of the pod's volumes. */}}
{{- define "frontdesk.sidecar.volumes" -}}
{{- include "frontdesk.volumes" . -}}
{{- end -}}

{{/*
How long the site waits before it ends. Beside a native sidecar: until no requests are routed here. Beside a classic one,
which gets SIGTERM at the same time: until Frontdesk has ended.
*/}}
{{- define "frontdesk.sidecar.wait" -}}
{{- if eq (include "frontdesk.native" .) "true" -}}
5
{{- else -}}
{{ add (int .Values.sidecar.shutdownDelay) (int .Values.sidecar.shutdownTimeout) 2 }}
{{- end -}}
{{- end -}}

{{/* The lifecycle of the site's container. */}}
{{- define "frontdesk.sidecar.lifecycle" -}}
preStop:
  {{- if eq .Values.sidecar.preStop "sleep" }}
  sleep:
    seconds: {{ include "frontdesk.sidecar.wait" . }}
  {{- else }}
  exec:
    command: ["sleep", "{{ include "frontdesk.sidecar.wait" . }}"]
  {{- end }}
{{- end -}}

{{/* terminationGracePeriodSeconds of the pod: all of it, with 10 s for the site's own end and 5 s for last records. */}}
{{- define "frontdesk.sidecar.grace" -}}
{{- $wait := include "frontdesk.sidecar.wait" . | int -}}
{{- if eq (include "frontdesk.native" .) "true" -}}
{{ add $wait 10 (int .Values.sidecar.shutdownTimeout) 5 }}
{{- else -}}
{{ add $wait 15 }}
{{- end -}}
{{- end -}}
