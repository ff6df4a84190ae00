{{- define "sandbox.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "sandbox.labels" -}}
{{ include "sandbox.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- with .Values.pullRequest }}
rdss-sandbox/pull-request: {{ . | quote }}
{{- end }}
{{- end }}

{{- /* A hub has all of HTTP at one port. */}}
{{- define "sandbox.ports" -}}
amqp: 5672
{{- if .Values.hub.enabled }}
control: 4580
{{- else }}
aws: 4566
control: 4570
queues: 8888
topics: 9007
{{- end }}
{{- end }}
