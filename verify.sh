#!/usr/bin/env bash
# Everything that must hold before a change lands: format, lints, documentation, tests, examples,
# licences, unused dependencies. Needs Rust and a C compiler; installs cargo-deny and cargo-machete into
# target/tools where they are missing.
set -euo pipefail
cd "$(dirname "$0")"

step() { printf '\n== %s\n' "$1"; }

tools="$PWD/target/tools"
export PATH="$PATH:$tools/bin"
need() {
    command -v "$1" >/dev/null || cargo install --quiet --locked --root "$tools" "$1"
}

step "format"
cargo fmt --all --check

step "lints"
cargo clippy --workspace --all-targets -- -D warnings
# Features unify in a workspace build: the parts that have fewer are also checked alone.
cargo clippy -p elevator-fleet -- -D warnings
cargo clippy -p elevator-simulator --no-default-features -- -D warnings
cargo clippy -p elevator-driver --no-default-features -- -D warnings
cargo clippy -p liftmesh --no-default-features -- -D warnings

step "the brain and the lab are pure"
for package in elevator-fleet liftmesh-lab; do
    if cargo tree -p "$package" --edges normal --prefix none | grep -E '^(tokio|mio|socket2|serialport|rustix|nix|getrandom|redb) '; then
        echo "$package must not depend on the crates above: they do I/O" >&2
        exit 1
    fi
done
wasm=wasm32-unknown-unknown
if [ -d "$(rustc --print target-libdir --target "$wasm")" ]; then
    cargo check --quiet -p elevator-fleet -p liftmesh-lab --target "$wasm"
elif [ -n "${LIFTMESH_SKIPS_FAIL:-}" ]; then
    echo "the target $wasm is not installed: rustup target add $wasm" >&2
    exit 1
else
    echo "skipped, for it is not installed: fleet/ and lab/ for $wasm (rustup target add $wasm)"
fi

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet

step "tests"
# Those with real processes mostly wait: six at once even where there are fewer processors.
threads=$(nproc)
export RUST_TEST_THREADS="${RUST_TEST_THREADS:-$((threads > 6 ? threads : 6))}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cargo test --workspace 2>&1 | tee "$log"

step "examples"
cargo run --quiet -p elevator-driver --features protocol --example decode_panel_frame
cargo run --quiet -p elevator-simulator --example drive_by_hand
cargo run --quiet -p elevator-fleet --example three_nodes

step "licences, bans, sources"
need cargo-deny
cargo deny --log-level error check bans licenses sources

step "unused dependencies"
need cargo-machete
cargo machete

awk '/^test result:/ { passed += $4; failed += $6 } END { printf "\n%d passed, %d failed\n", passed, failed }' "$log"
