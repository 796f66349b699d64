#!/usr/bin/env bash
# Measures what the packaged node needs of a computer: the size of the program, and memory and
# processor time of one idle node, and of each node in a bank of three with passengers.
#
#   packaging/build.sh && cargo build && packaging/measure.sh [SECONDS]
#
# The panels are simulated by the second build, as the packaged program has no simulator. As in the
# demo, a passenger comes every 5 s, who presses at a landing and then in a car.
set -euo pipefail
cd "$(dirname "$0")/.."
# The configuration that is installed on this machine, if any, is not meant.
export LIFTMESH_CONFIG=
built=${CARGO_TARGET_DIR:-target}
program=$built/release/liftmesh
simulator=$built/debug/liftmesh
seconds=${1:-30}
directory=$(mktemp -d)
processes=()
leave() {
    for process in "${processes[@]}"; do kill "$process" 2>/dev/null || true; done
    rm -rf "$directory"
}
trap leave EXIT
ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }
# Measures these processes over the same time.
measure() {
    local pid
    declare -A before
    for pid in "$@"; do before[$pid]=$(ticks "$pid"); done
    sleep "$seconds"
    for pid in "$@"; do
        awk -v used=$(($(ticks "$pid") - before[$pid])) -v hz="$(getconf CLK_TCK)" -v s="$seconds" \
            '/^VmRSS/ { rss = $2 } /^VmHWM/ { top = $2 }
             END { printf "  %.1f MiB of memory, %.1f at most; %.2f %% of a core\n", rss / 1024, top / 1024, 100 * used / hz / s }' \
            "/proc/$pid/status"
    done
}
operate() { "$program" "$@" --data-dir "$directory/A"; }
nodes=()
start() {
    local name=$1 number=$2
    "$simulator" simulate --quiet --floors 6 --serial-link "$directory/panel-$name" \
        >"$directory/simulator-$name.log" 2>&1 &
    processes+=($!)
    "$program" run --car "$name" --address "127.0.0.$number" --floors 6 \
        --panel "serial://$directory/panel-$name" --broadcast 127.255.255.255:46189 \
        --link-port 46189 --http-address "127.0.0.$number:7189" --data-dir "$directory/$name" \
        >"$directory/$name.log" 2>&1 &
    nodes+=($!)
    processes+=($!)
}
passengers() {
    for _ in $(seq "$((seconds / 5 + 2))"); do
        operate order hall $((RANDOM % 5)) up >/dev/null
        sleep 2.5
        operate order car "$(shuf -n 1 -e A B C)" $((RANDOM % 6)) >/dev/null
        sleep 2.5
    done
}

echo "the program has $(stat -c %s "$program") bytes"
start A 1
# It has found a floor.
sleep 12
operate status | sed -n '1p;/^Car A/p'
echo "one idle node, its panel on a serial line, at a load of $(cut -d ' ' -f 1 /proc/loadavg):"
measure "${nodes[@]}"
start B 2
start C 3
sleep 12
passengers &
processes+=($!)
echo "each node of a bank of three with passengers, at a load of $(cut -d ' ' -f 1 /proc/loadavg):"
measure "${nodes[@]}"
echo "orders served meanwhile: $(cat "$directory"/[ABC].log | grep -c 'order served.*here=true')"
