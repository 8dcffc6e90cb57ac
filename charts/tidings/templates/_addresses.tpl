{{/* The hosts of the API and of what is published, as a list: visitors' pages run no script beside the API. */}}
{{- define "tidings.hosts" -}}
{{- $api := (urlParse .Values.global.apiUrl).hostname -}}
{{- $public := (urlParse .Values.global.publicUrl).hostname -}}
{{- if not (and $api $public) }}{{ fail "ingress and httpRoute need global.apiUrl and global.publicUrl: their hosts are what they lead from." }}{{ end -}}
{{- if eq $api $public }}{{ fail "global.publicUrl needs a host of its own: nothing of the API may be where visitors' pages are." }}{{ end -}}
{{- toJson (list $api $public) -}}
{{- end }}
