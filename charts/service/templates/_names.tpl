{{/* Templates of this chart are there for the chart around it, too. Each takes (dict "root" $ "component" NAME). */}}

{{- define "tidings.name" -}}
{{ .root.Release.Name }}-{{ .component }}
{{- end }}

{{/* What finds the pods of a component. */}}
{{- define "tidings.selector" -}}
app.kubernetes.io/name: tidings
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "tidings.labels" -}}
{{ include "tidings.selector" . }}
app.kubernetes.io/part-of: tidings
app.kubernetes.io/version: {{ .root.Values.global.image.tag | default .root.Chart.AppVersion | trunc 63 | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- with .root.Values.global.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Of pods: without the version, for which a store would be started anew. "more" are labels of its own. */}}
{{- define "tidings.podLabels" -}}
{{ include "tidings.selector" . }}
app.kubernetes.io/part-of: tidings
{{- with mergeOverwrite (dict) .root.Values.global.labels (.more | default dict) }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The name, labels and annotations of a thing; "suffix" and "annotations" as wanted. */}}
{{- define "tidings.metadata" -}}
name: {{ include "tidings.name" . }}{{ with .suffix }}-{{ . }}{{ end }}
labels:
  {{- include "tidings.labels" . | nindent 2 }}
{{- with mergeOverwrite (dict) .root.Values.global.annotations (.annotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The role of a process of content; empty for the others. */}}
{{- define "tidings.role" -}}
{{- with .Values.env }}{{ get . "CONTENT_ROLE" }}{{ end -}}
{{- end }}

{{/* Of a process: "image" has repository and digest. */}}
{{- define "tidings.image" -}}
{{- $global := .root.Values.global.image -}}
{{- with $global.registry }}{{ . }}/{{ end -}}
{{- .image.repository | default (printf "tidings-%s" .component) -}}
{{- if .image.digest }}@{{ .image.digest }}{{ else }}:{{ $global.tag | default .root.Chart.AppVersion }}{{ end }}
{{- end }}
