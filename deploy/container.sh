#!/bin/sh
# What the container starts: the server, with what it needs before other machines may reach it. Weir
# listens beyond its own machine only with TLS and with an account that has a password
# (docs/server.md). Where nobody gave either, both are made once, in the volume:
#
#   tls/            a certificate that no authority signed, for localhost and $WEIR_NAME; made anew
#                   before it ends. Not made where the settings name a certificate or a proxy.
#   first-password  the password of the account `admin`, which is made if there is no account.
#
# Everything but `serve` is passed on as it is.
set -eu
umask 077

data=${WEIR_DATA:-/var/lib/weir}

if [ "${1:-}" != serve ]; then
  exec weir "$@"
fi
shift

certificate=$(weir config get server.certificate)
proxies=$(weir config get server.proxies)
if [ -z "$certificate" ] && [ "$proxies" = '[]' ] || [ "$certificate" = "$data/tls/chain.pem" ]; then
  mkdir -p "$data/tls"
  if ! openssl x509 -checkend 1209600 -noout -in "$data/tls/chain.pem" >/dev/null 2>&1; then
    names="DNS:localhost, IP:127.0.0.1, IP:::1${WEIR_NAME:+, DNS:$WEIR_NAME}"
    printf '%s\n' '[req]' 'distinguished_name = name' 'x509_extensions = more' 'prompt = no' \
      '[name]' "CN = ${WEIR_NAME:-localhost}" \
      '[more]' 'basicConstraints = critical, CA:FALSE' "subjectAltName = $names" \
      >"$data/tls/request.cnf"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 397 \
      -config "$data/tls/request.cnf" -keyout "$data/tls/key.pem" -out "$data/tls/chain.pem" \
      2>"$data/tls/request.log" || {
      cat "$data/tls/request.log" >&2
      exit 1
    }
    rm "$data/tls/request.cnf" "$data/tls/request.log"
    echo "made a certificate that no authority signed: $data/tls/chain.pem (browsers warn of it;" \
      "server.certificate and server.key name another)" >&2
  fi
  weir config set server.certificate "$data/tls/chain.pem" >/dev/null
  weir config set server.key "$data/tls/key.pem" >/dev/null
fi

password=$data/first-password
if [ ! -e "$data/.first-account" ]; then
  [ -s "$password" ] || openssl rand -base64 24 >"$password"
  : >"$data/.first-account"
  echo "where there is no account yet, admin is made; the password stands in $password: read it," \
    "sign in, give it another, and remove the file" >&2
fi
if [ -s "$password" ]; then
  # Where there is an account already, this does nothing.
  exec weir serve --first-admin admin --password-file "$password" "$@"
fi
exec weir serve "$@"
