#!/bin/sh
# Creates the credentials of NATS servers and replicas in the given folder: the
# cluster secret, an authority, a certificate for the servers and one for the replicas.
# It replaces no existing file. Certificates expire after 825 days, the authority after
# ten years. To renew them, remove server.pem and candela.pem, run this again with the same
# names, and restart the servers and then the replicas, one after the other.
#
#   sh deploy/cluster/secrets.sh deploy/cluster/secrets nats-0 nats-1 nats-2
set -eu
umask 077
dir=$1
shift
mkdir -p "$dir"
[ -e "$dir/cluster-secret" ] || openssl rand -hex 32 >"$dir/cluster-secret"
[ -e "$dir/ca.pem" ] || openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -days 3650 \
	-subj '/CN=candela authority' -keyout "$dir/ca-key.pem" -out "$dir/ca.pem"

# sign NAME SUBJECT EXTENSIONS: a key and a certificate.
sign() {
	[ -e "$dir/$1.pem" ] && return
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -subj "$2" -keyout "$dir/$1-key.pem" -out "$dir/$1.csr"
	printf '%s\n' "$3" >"$dir/$1.ext"
	openssl x509 -req -in "$dir/$1.csr" -CA "$dir/ca.pem" -CAkey "$dir/ca-key.pem" -CAcreateserial -days 825 -extfile "$dir/$1.ext" -out "$dir/$1.pem"
	rm "$dir/$1.csr" "$dir/$1.ext"
}

names=
for host; do names="$names,DNS:$host"; done
sign server /CN=nats "subjectAltName=${names#,}
extendedKeyUsage=serverAuth,clientAuth"
sign candela /CN=candela 'extendedKeyUsage=clientAuth'
