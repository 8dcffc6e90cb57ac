{{/* The volume of a store. Takes its "storage". */}}
{{- define "tidings.storeClaim" -}}
- apiVersion: v1
  kind: PersistentVolumeClaim
  metadata:
    name: store
  spec:
    accessModes: [ReadWriteOnce]
    {{- with .storageClassName }}
    storageClassName: {{ . }}
    {{- end }}
    resources:
      requests: { storage: {{ .size }} }
{{- end }}

{{/* Where a store is found. Takes (dict "root" $ "component" NAME "ports" MAP). */}}
{{- define "tidings.storeService" -}}
apiVersion: v1
kind: Service
metadata:
  {{- include "tidings.metadata" . | nindent 2 }}
spec:
  clusterIP: None
  selector:
    {{- include "tidings.selector" . | nindent 4 }}
  ports:
    {{- range $name, $port := .ports }}
    - { name: {{ $name }}, port: {{ $port }}, targetPort: {{ $name }} }
    {{- end }}
{{- end }}

{{/* The rule of a policy that lets out to DNS. */}}
{{- define "tidings.toDns" -}}
- to:
    {{- toYaml .Values.global.networkPolicy.dns | nindent 4 }}
  ports: [{ port: 53, protocol: UDP }, { port: 53, protocol: TCP }]
{{- end }}

{{/* The rule of a policy that lets out to a store, wherever it is. Takes (dict "root" $ "store" NAME). */}}
{{- define "tidings.toStore" -}}
{{- $given := get .root.Values.global.networkPolicy .store -}}
{{- if get (get .root.Values .store) "enabled" -}}
- to:
    {{- include "tidings.peers" (dict "root" .root "components" (list .store)) | nindent 4 }}
  ports: [{ port: {{ .store }} }]
{{- else -}}
- ports: [{ port: {{ $given.port }} }]
  {{- with $given.to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
{{- end }}
