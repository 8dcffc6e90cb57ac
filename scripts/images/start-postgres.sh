#!/bin/sh
# As the official image does, as far as it is needed to try the product out: makes the cluster and POSTGRES_DB on first use,
# whole or not at all, with the superuser POSTGRES_USER. Arguments go to the server.
set -eu
user="${POSTGRES_USER:-postgres}"
database="${POSTGRES_DB:-$user}"
data="${PGDATA:-/var/lib/postgresql/data}"
if [ ! -e "$data/PG_VERSION" ]; then
  rm -rf "$data.new"
  mkdir -p -m 700 "$data.new"
  (umask 077; printf %s "${POSTGRES_PASSWORD:?is not set}" > "$data.password")
  initdb -D "$data.new" -U "$user" --pwfile="$data.password" -A scram-sha-256 -E UTF8 \
    --locale=C --locale-provider=builtin --builtin-locale=C.UTF-8
  rm "$data.password"
  echo "host all all all scram-sha-256" >> "$data.new/pg_hba.conf"
  [ "$database" = postgres ] || echo "create database \"$database\"" | postgres --single -D "$data.new" postgres
  [ ! -d "$data" ] || rmdir "$data"
  mv "$data.new" "$data"
fi
exec postgres -D "$data" -c "listen_addresses=*" -c unix_socket_directories=/tmp "$@"
