{{/* What all pods have in common. Takes (dict "root" $ "placement" VALUES "user" UID): the owner of the files, and where they run. */}}
{{- define "tidings.pod" -}}
{{- $global := .root.Values.global -}}
{{- $own := .placement -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .user }}
  runAsGroup: {{ .user }}
  fsGroup: {{ .user }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- with $global.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with $own.priorityClassName | default $global.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- range $key := list "nodeSelector" "tolerations" "affinity" }}
{{- with get $own $key | default (get $global $key) }}
{{ $key }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{- define "tidings.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end }}

{{/* Variables from Secrets. Takes (dict "secret" NAME "variables" MAP): each from the key of its own name unless it says otherwise; null
takes one away. */}}
{{- define "tidings.secretEnv" -}}
{{- $secret := .secret -}}
{{- $lines := list -}}
{{- range $name, $source := .variables -}}
{{- if kindIs "map" $source -}}
{{- $key := dict "name" ($source.secret | default $secret) "key" ($source.key | default $name) -}}
{{- if $source.optional }}{{ $_ := set $key "optional" true }}{{ end -}}
{{- $lines = append $lines (dict "name" $name "valueFrom" (dict "secretKeyRef" $key)) -}}
{{- end -}}
{{- end -}}
{{- toYaml $lines -}}
{{- end }}

{{/* Authorities that processes believe besides those of Node: of a Postgres, Redis or bucket with certificates of its own making. */}}
{{- define "tidings.authoritiesEnv" -}}
{{- with .Values.global.authorities }}
{{- if .secret }}
- { name: NODE_EXTRA_CA_CERTS, value: /etc/tidings/authorities/{{ .key }} }
{{- end }}
{{- end }}
{{- end }}

{{- define "tidings.authoritiesMount" -}}
{{- if .Values.global.authorities.secret }}
- { name: authorities, mountPath: /etc/tidings/authorities, readOnly: true }
{{- end }}
{{- end }}

{{- define "tidings.authoritiesVolume" -}}
{{- with .Values.global.authorities.secret }}
- name: authorities
  secret: { secretName: {{ . }} }
{{- end }}
{{- end }}
