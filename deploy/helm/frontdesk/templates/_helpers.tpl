{{/* The names and labels of everything. */}}
{{- define "frontdesk.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{/* The alerts know a job by "frontdesk" in its name. */}}
{{- define "frontdesk.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "frontdesk.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "frontdesk.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "frontdesk.selector" -}}
app.kubernetes.io/name: {{ include "frontdesk.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "frontdesk.labels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{/* The labels of the pods that Frontdesk is in. */}}
{{- define "frontdesk.pods" -}}
{{- if eq .Values.mode "edge" -}}
{{- include "frontdesk.selector" . -}}
{{- else -}}
{{- toYaml .Values.sidecar.podLabels -}}
{{- end -}}
{{- end -}}

{{- define "frontdesk.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- define "frontdesk.native" -}}
{{- and (eq .Values.mode "sidecar") .Values.sidecar.native -}}
{{- end -}}

{{/* Seconds; a native sidecar ends after the site, and has nothing to wait for. */}}
{{- define "frontdesk.shutdownDelay" -}}
{{- if eq (include "frontdesk.native" .) "true" -}}0{{- else -}}{{ int (index .Values .Values.mode).shutdownDelay }}{{- end -}}
{{- end -}}

{{/* What fits together is refused where it does not, before anything is installed. */}}
{{- define "frontdesk.checked" -}}
{{- if and (eq .Values.mode "edge") (eq .Values.edge.store "memory") (or .Values.autoscaling.enabled (gt (int .Values.replicaCount) 1)) -}}
{{- fail "edge.store is memory: each pod would remember its own calls only, and a retry that reaches another pod would act twice. Set edge.store to bundled or external, or replicaCount to 1 without autoscaling." -}}
{{- end -}}
{{- if and (eq (index .Values .Values.mode).store "external") (not .Values.redis.external.url) (not .Values.redis.external.existingSecret) -}}
{{- fail "store is external: set redis.external.url or redis.external.existingSecret." -}}
{{- end -}}
{{- if and (eq (include "frontdesk.native" .) "true") (semverCompare "<1.29.0-0" .Capabilities.KubeVersion.Version) -}}
{{- fail (printf "Kubernetes %s has no native sidecars (1.29 has). Set sidecar.native to false and sidecar.preStop to exec." .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- if and (eq .Values.mode "sidecar") (eq .Values.sidecar.preStop "sleep") (semverCompare "<1.30.0-0" .Capabilities.KubeVersion.Version) -}}
{{- fail (printf "Kubernetes %s cannot wait by itself before it ends a container (1.30 can). Set sidecar.preStop to exec." .Capabilities.KubeVersion.Version) -}}
{{- end -}}
{{- if .Values.config -}}
{{- if not (and (regexMatch `(?m)^\s*http\s*=.*:8080["']` .Values.config) (regexMatch `(?m)^\s*admin\s*=.*:9901["']` .Values.config)) -}}
{{- fail "config: the Services and the probes expect [listen] http on port 8080 and admin on port 9901." -}}
{{- end -}}
{{- end -}}
{{- end -}}
