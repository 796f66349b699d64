#!/bin/sh
# A node with a supervisor, and with somebody who inspects the car after each hang.
# ours.sh PROGRAM DATA-DIR FLAGS…
program=$1 dir=$2
shift 2
export LIFTMESH_CONFIG=
while :; do
    "$program" run --data-dir "$dir" "$@"
    "$program" clear-hang --data-dir "$dir" --operator kit --reason 'a test of the motor'
    sleep 1
done
