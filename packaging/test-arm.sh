#!/usr/bin/env bash
# Tests the node for ARM on this machine, under qemu-user:
#
#   packaging/test-arm.sh arm64
#   packaging/test-arm.sh armhf
#
# The library tests of the brain, of the panel's driver and of the node, and then the released node,
# as packaging/build.sh makes it: it drives a simulated car, serves an order, is killed and comes back
# with its orders. The simulator is this machine's own. The panel is on TCP, because qemu-user
# emulates neither pseudo-terminals nor the ioctl that sets the speed of a serial line.
#
# It prints the size of the program, and what the idle node used of memory and processor time, which
# includes the emulator's part: on a computer with such a processor it is less.
#
# It needs what packaging/build.sh needs for that architecture (not cargo-deb), and qemu-user-static
# or qemu-user (apt-get install). CARGO names another cargo. `--node` leaves the library tests out.
set -euo pipefail
cd "$(dirname "$0")/.."
# The configuration that is installed on this machine, if any, is not meant.
export LIFTMESH_CONFIG=
cargo=${CARGO:-cargo}
built=${CARGO_TARGET_DIR:-target}
fail() {
    echo "packaging/test-arm.sh: $*" >&2
    exit 1
}
case ${1:-} in
arm64) target=aarch64-unknown-linux-gnu tools=aarch64-linux-gnu machine=aarch64 ;;
armhf) target=armv7-unknown-linux-gnueabihf tools=arm-linux-gnueabihf machine=arm ;;
-h | --help)
    sed -n '2,/^set /s/^# \{0,1\}//p' "$0" | sed '$d'
    exit ;;
*) fail 'arm64 or armhf?' ;;
esac
qemu=$(command -v "qemu-$machine-static" || command -v "qemu-$machine") ||
    fail 'qemu is missing: apt-get install qemu-user-static'
command -v "$tools-gcc" >/dev/null || fail "the compiler is missing: apt-get install gcc-$tools"
variable=${target//-/_}
export "CARGO_TARGET_${variable^^}_LINKER=$tools-gcc"
export "CARGO_TARGET_${variable^^}_RUNNER=$qemu -L /usr/$tools"

if [ "${2:-}" != --node ]; then
    # An emulated processor is an order of magnitude slower: fewer generated inputs, and no model
    # checking, which does not depend on the processor. For serial lines, over which the tests of
    # the whole loop drive their car, see above.
    export PROPTEST_CASES=${PROPTEST_CASES:-16}
    $cargo test --target "$target" --lib \
        -p elevator-driver -p elevator-fleet --features elevator-driver/line \
        -- --skip model:: --skip serial::
    # qemu-user has no option that chooses the interface of a multicast group.
    $cargo test --target "$target" --lib -p liftmesh -- --skip runtime::tests:: --skip multicast
fi

$cargo build --release --no-default-features --bin liftmesh --target "$target"
$cargo build --bin liftmesh
directory=$(mktemp -d)
simulator='' node=''
leave() {
    for process in $node $simulator; do kill "$process" 2>/dev/null || true; done
    rm -rf "$directory"
}
trap leave EXIT
program=("$qemu" -L "/usr/$tools" "$built/$target/release/liftmesh")
native="$built/debug/liftmesh"
panel=127.0.0.1:46178
"$native" simulate --quiet --floors 4 --tcp "$panel" >"$directory/simulator.log" 2>&1 &
simulator=$!
start() {
    "$@" run --car A --role cabin --address 127.0.0.1 --floors 4 --panel "tcp://$panel" \
        --broadcast 127.255.255.255:46179 --link-port 46179 --http-address 127.0.0.1:7179 \
        --data-dir "$directory/data" >>"$directory/node.log" 2>&1 &
    node=$!
}
# Waits until the last argument, a pattern, is in what the command before it prints.
wait_for() {
    local pattern=${*: -1} printed=
    set -- "${@:1:$#-1}"
    for _ in $(seq 300); do
        printed=$("$@" 2>&1) || true
        if grep -q "$pattern" <<<"$printed"; then return; fi
        kill -0 "$node" 2>/dev/null || { cat "$directory/node.log" >&2; fail 'the node has ended'; }
        sleep 0.1
    done
    cat "$directory"/*.log >&2
    fail "waited in vain for: $pattern in: $printed"
}
# What the node has used in the last seconds; under qemu-user with what the emulator itself takes.
measure() {
    local before used
    ticks() { awk '{ print $14 + $15 }' "/proc/$node/stat"; }
    before=$(ticks)
    sleep 10
    used=$(($(ticks) - before))
    awk -v what="$1" -v used="$used" -v hz="$(getconf CLK_TCK)" \
        '/^VmRSS/ { printf "%s: %.1f MiB of memory, %.1f %% of a core\n", what, $2 / 1024, 10 * used / hz }' \
        "/proc/$node/status"
}
status() { "$@" status --data-dir "$directory/data"; }

start "${program[@]}"
wait_for status "${program[@]}" '^Node A: master'
"${program[@]}" order hall 3 down --wait served --data-dir "$directory/data"
"${program[@]}" order hall 0 up --wait lit --data-dir "$directory/data"
kill -9 "$node"
{ wait "$node" || true; } 2>/dev/null
start "${program[@]}"
wait_for status "${program[@]}" '^Node A: master'
wait_for cat "$directory/node.log" 'order served'
echo "the program for $1 has $(stat -c %s "$built/$target/release/liftmesh") bytes"
measure "$1, idle, emulated"
kill "$node"
wait "$node" || fail "the node ended with $?"
# This machine's program reads the journal that the other has written.
start "$native"
wait_for status "$native" '^Node A: master'
kill "$node"
wait "$node" || fail "the node of this machine ended with $? on the journal of $1"
node=''
echo "$1: the node drove its car, and kept its orders over a kill"
