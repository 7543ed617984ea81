{{/* Frontdesk's container, the same beside a site as on its own. */}}
{{- define "frontdesk.container" -}}
{{- $s := index .Values .Values.mode -}}
name: frontdesk
image: {{ include "frontdesk.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- if eq (include "frontdesk.native" .) "true" }}
# A native sidecar: started before the site, which waits for its startupProbe, and ended after it.
restartPolicy: Always
{{- end }}
args: ["run", "--config", "/etc/frontdesk/frontdesk.toml"]
env:
  - name: ADMIN_TOKEN_SHA256
    valueFrom:
      secretKeyRef:
        name: {{ .Values.admin.existingSecret }}
        key: {{ .Values.admin.key }}
        optional: true
  {{- if and (eq $s.store "external") .Values.redis.external.existingSecret }}
  - name: REDIS_URL
    valueFrom:
      secretKeyRef:
        name: {{ .Values.redis.external.existingSecret }}
        key: {{ .Values.redis.external.key }}
  {{- end }}
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
ports:
  - name: frontdesk
    containerPort: 8080
  - name: admin
    containerPort: 9901
startupProbe:
  httpGet:
    path: /readyz
    port: 9901
  periodSeconds: 1
  failureThreshold: 30
# Not ready during the shutdown. A failing site does not count: its own readinessProbe shows it.
readinessProbe:
  httpGet:
    path: /readyz
    port: 9901
  periodSeconds: 5
# Alive until the process exits: a liveness probe that fails during the drain would cut it off.
livenessProbe:
  httpGet:
    path: /livez
    port: 9901
  periodSeconds: 10
  timeoutSeconds: 3
  failureThreshold: 6
resources:
  {{- toYaml $s.resources | nindent 2 }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: ["ALL"]
  seccompProfile:
    type: RuntimeDefault
volumeMounts:
  # The directory: a file mounted by subPath never changes.
  - name: frontdesk-config
    mountPath: /etc/frontdesk
    readOnly: true
  {{- with .Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- define "frontdesk.volumes" -}}
- name: frontdesk-config
  configMap:
    name: {{ include "frontdesk.fullname" . }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}
