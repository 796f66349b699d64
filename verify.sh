#!/usr/bin/env bash
# Checks what must hold before a change lands.
#
#   ./verify.sh         before each commit: format, lints, tests with short campaigns
#   ./verify.sh --full  everything: also documentation, every set of features, tests that load the
#                       machine, longer campaigns, examples, the Debian package, licences, unused
#                       dependencies
#   ./verify.sh --nightly  the same, and whether weaknesses of the crates are known, which changes
#                       without a change here; fetches the advisory database
#
# Needs Rust and a C compiler. With --full, installs cargo-deb, cargo-deny, cargo-machete and
# wasm-bindgen into target/tools where they are missing. What else a test lacks, it names.
set -euo pipefail
cd "$(dirname "$0")"

full=
nightly=
case "${1:-}" in
"") ;;
--full) full=1 ;;
--nightly) full=1 nightly=1 ;;
-h | --help)
    sed -n '2,/^set /s/^# \{0,1\}//p' "$0"
    exit
    ;;
*)
    echo "$0: unknown argument $1: see $0 --help" >&2
    exit 2
    ;;
esac

step() { printf '\n== %s (after %d s)\n' "$1" "$SECONDS"; }

tools="$PWD/target/tools"
export PATH="$PATH:$tools/bin"
# Without optimizations: compiling a tool takes longer than it runs.
need() {
    command -v "$1" >/dev/null ||
        env -u CARGO_TARGET_DIR CARGO_PROFILE_DEV_DEBUG=false CARGO_PROFILE_DEV_OPT_LEVEL=0 \
            cargo install --debug --quiet --locked --root "$tools" "$1"
}
needed=(cargo-deb cargo-machete cargo-deny)
installing=
failed=
has_wasm=
logs=$(mktemp -d)
# Also ends what runs in the background.
leave() {
    [ -z "$installing" ] || kill -- "-$installing" 2>/dev/null || true
    rm -rf "$logs"
}
trap leave EXIT
# Has the shell and what it starts run in the time that nothing else needs.
be_idle() { chrt --idle --pid 0 "$BASHPID" 2>/dev/null || renice -n 19 -p "$BASHPID" >/dev/null; }
if [ -n "$full" ]; then
    # In its own process group it can be ended as a whole.
    set -m
    (
        be_idle
        # For the tests in the browser. Its directory of builds is none that the steps below wait for.
        rm -rf target/playground
        # Compiled quickly: no test depends on its speed.
        CARGO_PROFILE_PLAYGROUND_LTO=off CARGO_PROFILE_PLAYGROUND_CODEGEN_UNITS=16 \
            ./playground/build.sh >"$logs/playground" 2>&1 || true
        for tool in "${needed[@]}"; do need "$tool" || true; done
        # The generator of the client that the test of the OpenAPI document uses.
        python="$tools/python"
        [ -x "$python/bin/openapi-python-client" ] ||
            { python3 -m venv "$python" &&
                "$python/bin/pip" install --quiet --disable-pip-version-check \
                    openapi-spec-validator==0.9.0 openapi-python-client==0.29.1; } || true
    ) &
    installing=$!
    set +m
fi

step "format"
cargo fmt --all --check

step "lints"
most=(--workspace)
# `peer` compiles another simulator: only the full run pays for that.
[ -n "$full" ] || most+=(--exclude liftmesh-peer)
cargo clippy "${most[@]}" --all-targets -- -D warnings
if [ -n "$full" ]; then
    # Features unify in a workspace build: the parts that have fewer are also checked alone. Each
    # run also checks the parts that its package uses: with the lab the brain and the simulator with
    # no features, as `peer` has them.
    cargo clippy -p liftmesh-lab -- -D warnings
    cargo clippy -p elevator-driver --no-default-features -- -D warnings
    cargo clippy -p liftmesh-harness -- -D warnings
    cargo clippy -p liftmesh -- -D warnings
    cargo clippy -p liftmesh --no-default-features -- -D warnings

    step "the brain and the lab are pure"
    for package in elevator-fleet liftmesh-api liftmesh-lab liftmesh-playground; do
        if cargo tree -p "$package" --edges normal --prefix none | grep -E '^(tokio|mio|socket2|serialport|rustix|nix|getrandom|redb) '; then
            echo "$package must not depend on the crates above: they do I/O" >&2
            exit 1
        fi
    done
    wasm=wasm32-unknown-unknown
    # That they also build without an operating system, the playground shows, in the background.
    if [ -d "$(rustc --print target-libdir --target "$wasm")" ]; then
        has_wasm=1
    elif [ -n "${LIFTMESH_SKIPS_FAIL:-}" ]; then
        echo "the target $wasm is not installed: rustup target add $wasm" >&2
        exit 1
    else
        echo "skipped, because it is not installed: fleet/, lab/ and playground/ for $wasm (rustup target add $wasm)"
    fi

    step "documentation"
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --quiet
fi

step "compilation of the tests"
cargo test "${most[@]}" --no-run
if [ -n "$full" ]; then
    export LIFTMESH_CAMPAIGN="${LIFTMESH_CAMPAIGN:-10}" LIFTMESH_KILLS="${LIFTMESH_KILLS:-14}"
    export LIFTMESH_DENSE_KILLS="${LIFTMESH_DENSE_KILLS:-200}"
fi
host=$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')
# Runs the command, whose tests say how long they took, and keeps what it prints.
tests() {
    local log="$logs/$1"
    step "tests: $1"
    shift
    env "CARGO_TARGET_${host}_RUNNER=$PWD/tests/timed" "$@" --no-fail-fast 2>&1 | tee "$log"
}
threads=$(nproc)
# Some of these wait for real lines and clocks.
RUST_TEST_THREADS="${RUST_TEST_THREADS:-$((threads * 2))}" \
    tests virtual cargo test "${most[@]}" --lib --bins --test virtual_fleet || failed=1
# Tests with real processes mostly wait: eight at once even where there are fewer processors. They need
# the machine for themselves, for a simulated panel that is starved counts as silent.
if [ -n "$full" ]; then
    wait "$installing" || true
    installing=
fi
RUST_TEST_THREADS="${RUST_TEST_THREADS:-$((threads > 8 ? threads : 8))}" \
    tests processes cargo test "${most[@]}" --test processes --test endpoints || failed=1
if [ -n "$full" ]; then
    # Those that share the machine mostly wait.
    RUST_TEST_THREADS="${RUST_TEST_THREADS:-$((threads * 2))}" \
        tests load cargo test "${most[@]}" --test load || failed=1
    # Only these arguments switch the seeded defects on: they are no default, and no other package asks
    # for them. The whole workspace is selected, so that what it depends on is not compiled again.
    tests seeded cargo test "${most[@]}" --features liftmesh-lab/seeded-bugs --test seeded_bugs ||
        failed=1
    if [ -n "$has_wasm" ] && [ ! -e target/playground/index.html ]; then
        cat "$logs/playground" >&2
        echo "the playground can't be built" >&2
        failed=1
    fi
    tests browser cargo test "${most[@]}" --test browser || failed=1
fi
cargo test "${most[@]}" --doc --quiet || failed=1

if [ -n "$full" ]; then
    step "examples"
    # They were compiled with the tests. Whatever sets the directory, cargo knows it.
    target=$(cargo metadata --format-version 1 --no-deps |
        sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')
    for example in decode_panel_frame drive_by_hand three_nodes virtual_time; do
        if ! "$target/debug/examples/$example"; then
            echo "the example $example has failed" >&2
            failed=1
        fi
    done

    for tool in "${needed[@]}"; do
        if ! command -v "$tool" >/dev/null; then
            echo "$tool is not installed, and can't be: its step is left out, and this run fails" >&2
            failed=1
        fi
    done
    step "package"
    if [ "$(id -u)" = 0 ] && command -v dpkg >/dev/null; then
        # Of the program that the tests have used.
        rm -rf target/package
        { packaging/build.sh debug && packaging/test.sh target/package/test/debian/*.deb; } || failed=1
    elif [ -n "${LIFTMESH_SKIPS_FAIL:-}" ]; then
        echo "the package can be tested by root on Debian only" >&2
        failed=1
    else
        echo "skipped: the package can be tested by root on Debian only"
    fi

    step "licences, bans, sources"
    if command -v cargo-deny >/dev/null; then
        cargo deny --log-level error check bans licenses sources || failed=1
    fi
    if [ -n "$nightly" ]; then
        step "advisories"
        if ! cargo deny --log-level error check advisories; then
            echo "crates have known weaknesses, or the advisory database can't be fetched: see above" >&2
            failed=1
        fi
    fi

    step "unused dependencies"
    if command -v cargo-machete >/dev/null; then
        cargo machete || failed=1
    fi
fi

step "the ten slowest tests"
sed -n 's/^test \(.*\) \.\.\. .*<\(.*\)>$/\2 \1/p' "$logs"/* | sort -rn | sed -n 1,10p
awk '/^test result:/ { passed += $4; failed += $6 } END { printf "\n%d passed, %d failed\n", passed, failed }' "$logs"/*
grep -h '^test .* FAILED' "$logs"/* || true
# The beginning of what each of them said, once more, where it is not overlooked.
awk '/^---- .* stdout ----$/ { left = 12 } left-- > 0' "$logs"/*
[ -z "$failed" ]
