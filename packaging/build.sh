#!/usr/bin/env bash
# Makes the Debian package of the node, without demo and lab, and of `elevator-simulator`:
#
#   packaging/build.sh          for this machine
#   packaging/build.sh amd64    for x86-64, on such a machine
#   packaging/build.sh arm64    for a 64-bit ARM
#   packaging/build.sh armhf    for a 32-bit ARM (v7) with floating point
#   packaging/build.sh debug    for packaging/test.sh alone: the programs that `cargo build` or
#                               `cargo test` has left in target/debug, in a moment
#
# Debian's cross compilers and Rust's targets, once:
#
#   apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross     # arm64
#   rustup target add aarch64-unknown-linux-gnu
#   apt-get install gcc-arm-linux-gnueabihf libc6-dev-armhf-cross   # armhf
#   rustup target add armv7-unknown-linux-gnueabihf
#
# It needs cargo-deb: cargo install --locked cargo-deb. The package is in target/debian/, or in
# target/TARGET/debian/; its path is the last line that is printed. CARGO names another cargo. If
# playground/build.sh has built the playground, the package has it in /usr/share/liftmesh/playground.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PATH:$PWD/target/tools/bin"
cargo=${CARGO:-cargo}
built=${CARGO_TARGET_DIR:-target}
host=$(rustc -vV | sed -n 's/^host: //p')
profile=release
build=(--release --no-default-features)
case ${1:-} in
'') target=$host ;;
debug) target=$host profile=debug ;;
amd64) target=x86_64-unknown-linux-gnu ;;
arm64) target=aarch64-unknown-linux-gnu compiler=aarch64-linux-gnu-gcc ;;
armhf) target=armv7-unknown-linux-gnueabihf compiler=arm-linux-gnueabihf-gcc ;;
-h | --help)
    sed -n '2,/^set /s/^# \{0,1\}//p' "$0" | sed '$d'
    exit ;;
*)
    echo "packaging/build.sh: there is no package for $1: amd64, arm64, armhf or debug" >&2
    exit 2 ;;
esac
lack() {
    echo "packaging/build.sh: $1 is missing: $2" >&2
    exit 2
}
command -v cargo-deb >/dev/null || lack cargo-deb 'cargo install --locked cargo-deb'
if [ "$target" = "$host" ]; then
    target=
else
    [ -d "$(rustc --print target-libdir --target "$target")" ] ||
        lack "the target $target" "rustup target add $target"
    command -v "${compiler:?no cross compiler is known for $target}" >/dev/null ||
        lack "$compiler" "apt-get install gcc-${compiler%-gcc}"
    variable=${target//-/_}
    export "CARGO_TARGET_${variable^^}_LINKER=$compiler"
fi

# The example of the configuration is that of the program as it is packaged, made on this machine.
[ $profile = debug ] || $cargo build "${build[@]}" --bin liftmesh
program=$built/$profile/liftmesh
[ -x "$program" ] || lack "$program" 'cargo build'
out=target/package
rm -rf "$out"
mkdir -p "$out/share"
"$program" check-config --example >"$out/node.toml"
# A package owns /usr/bin; by hand the program is installed in /usr/local/bin.
sed 's|/usr/local/bin/liftmesh|/usr/bin/liftmesh|' config/liftmesh.service >"$out/liftmesh.service"
grep -q '^ExecStart=/usr/bin/liftmesh ' "$out/liftmesh.service"
sed 's|/usr/local/bin/liftmesh|/usr/bin/liftmesh|' config/liftmesh-caretaker.service >"$out/liftmesh-caretaker.service"
grep -q '^ExecStart=/usr/bin/liftmesh ' "$out/liftmesh-caretaker.service"

docs/stage.sh "$out/doc"
cp config/prometheus-alerts.yml config/grafana-dashboard.json "$out/share/"
if [ -e target/playground/index.html ]; then
    cp -r target/playground "$out/share/"
fi

if [ -n "$target" ]; then
    $cargo build --release --no-default-features --bin liftmesh --target "$target"
    $cargo build --release --package elevator-simulator --target "$target"
    exec $cargo deb --no-build --target "$target"
fi
if [ $profile = debug ]; then
    # cargo-deb packages releases only: this one is somewhere else.
    mkdir -p "$out/test/release"
    cp "$program" "$built/debug/elevator-simulator" "$out/test/release/"
    CARGO_TARGET_DIR=$PWD/$out/test exec $cargo deb --no-build --fast
fi
$cargo build --release --package elevator-simulator
exec $cargo deb --no-build
