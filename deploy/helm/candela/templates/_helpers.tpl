{{- define "candela.labels" -}}
app.kubernetes.io/name: candela
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{- define "candela.selector" -}}
app.kubernetes.io/name: candela
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "candela.check" -}}
{{- if not .Values.baseURL }}{{ fail "baseURL is required: what clients call, such as https://charts.example.com" }}{{ end }}
{{- if and (gt (int .Values.replicas) 1) (not .Values.nats.url) }}{{ fail "replicas above 1 need nats.url: the servers that all replicas share" }}{{ end }}
{{- if and .Values.nats.url (not .Values.nats.secret) }}{{ fail "nats.url needs nats.secret: a secret with cluster-secret, ca.pem, candela.pem and candela-key.pem" }}{{ end }}
{{- if and .Values.owners.issuer .Values.passphraseSecret }}{{ fail "owners.issuer and passphraseSecret exclude each other: many owners sign in at the provider" }}{{ end }}
{{- if not (or .Values.owners.issuer .Values.passphraseSecret) }}{{ fail "passphraseSecret or owners.issuer is required: who approves clients" }}{{ end }}
{{- if and .Values.owners.issuer (not .Values.owners.clientSecret) }}{{ fail "owners.issuer needs owners.clientSecret: a secret with the key oidc-client-secret" }}{{ end }}
{{- if and .Values.owners.issuer (not .Values.owners.allow) }}{{ fail "owners.issuer needs owners.allow: who may sign in, such as group:traders" }}{{ end }}
{{- end }}
