{{/* Pods of other components of the release, as peers of a policy. Takes (dict "root" $ "components" LIST). */}}
{{- define "tidings.peers" -}}
{{- range .components }}
- podSelector:
    matchLabels:
      {{- include "tidings.selector" (dict "root" $.root "component" .) | nindent 6 }}
{{- end }}
{{- end }}

{{/* Who may come to this process. */}}
{{- define "tidings.ingressRules" -}}
{{- $policy := .Values.global.networkPolicy -}}
{{- with .Values.callers }}
- from:
    {{- include "tidings.peers" (dict "root" $ "components" .) | nindent 4 }}
  ports: [{ port: grpc }]
{{- end }}
{{- with .Values.http }}
{{- if .port }}
- ports: [{ port: http }]
  {{- if .callers }}
  from:
    {{- include "tidings.peers" (dict "root" $ "components" .callers) | nindent 4 }}
  {{- else }}
  {{- with $policy.visitors }}
  from:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
{{- end }}
{{- end }}
{{- with $policy.monitoring }}
- from:
    {{- toYaml . | nindent 4 }}
  ports: [{ port: ops }]
{{- end }}
{{- end }}

{{/* All ports but these, as ranges. */}}
{{- define "tidings.portsWithout" -}}
{{- $ascending := list -}}
{{- range . }}{{ $ascending = append $ascending (printf "%05d" (int .)) }}{{ end -}}
{{- $from := 1 -}}
{{- range append (sortAlpha (uniq $ascending)) "65536" }}
{{- $port := atoi . }}
{{- if gt $port $from }}
- { port: {{ $from }}, endPort: {{ sub $port 1 }} }
{{- end }}
{{- $from = add1 $port }}
{{- end }}
{{- end }}

{{/* Where this process may go. */}}
{{- define "tidings.egressRules" -}}
{{- range $where := .Values.addresses | values | uniq | sortAlpha }}
{{- $parts := splitList ":" $where }}
- to:
    {{- include "tidings.peers" (dict "root" $ "components" (list (first $parts))) | nindent 4 }}
  ports: [{ port: {{ ternary "http" "grpc" (gt (len $parts) 1) }} }]
{{- end }}
{{- $smtp := .Values.global.networkPolicy.smtp }}
{{- if has (include "tidings.role" .) (list "all" "send") }}
{{- range $server := list $smtp .Values.global.networkPolicy.imap }}
{{- if $server.ports }}
- ports:
    {{- range $server.ports }}
    - { port: {{ . }} }
    {{- end }}
  {{- with $server.to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- if .Values.internet }}
{{- /* Public addresses only: what the process itself refuses is refused here once more. Mail servers take mails from senders alone. */}}
- to:
    - ipBlock:
        cidr: 0.0.0.0/0
        except: [0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.0.0.0/24, 192.168.0.0/16, 198.18.0.0/15, 224.0.0.0/4, 240.0.0.0/4]
    - ipBlock:
        cidr: 2000::/3
        except: [2002::/16]
  {{- with $smtp.ports }}
  ports:
    {{- include "tidings.portsWithout" . | nindent 4 }}
  {{- end }}
{{- end }}
{{- with .Values.allowCidrs }}
- to:
    {{- range . }}
    - ipBlock: { cidr: {{ . | quote }} }
    {{- end }}
  {{- with $smtp.ports }}
  ports:
    {{- include "tidings.portsWithout" . | nindent 4 }}
  {{- end }}
{{- end }}
{{- with concat .Values.global.networkPolicy.extraEgress .Values.extraEgress }}
{{ toYaml . }}
{{- end }}
{{- end }}
