{{/* The hosts of the API and of what is published, as a list. */}}
{{- define "tidings.hosts" -}}
{{- $urls := compact (list .Values.global.apiUrl .Values.global.publicUrl) -}}
{{- if not $urls }}{{ fail "ingress and httpRoute need global.apiUrl: its host is what they lead from." }}{{ end -}}
{{- $hosts := list -}}
{{- range $urls }}{{ $hosts = append $hosts (urlParse .).hostname }}{{ end -}}
{{- toJson (uniq $hosts) -}}
{{- end }}
