#!/usr/bin/env bash
# Makes the Debian package of the node, without demo, simulator and lab:
#
#   packaging/build.sh                                  for this machine
#   packaging/build.sh aarch64-unknown-linux-gnu        needs gcc-aarch64-linux-gnu
#   packaging/build.sh armv7-unknown-linux-gnueabihf    needs gcc-arm-linux-gnueabihf
#
# It needs `cargo install cargo-deb`, and the target: `rustup target add TARGET`. The package is in
# target/debian/, or in target/TARGET/debian/. CARGO names another cargo.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}
target=${1:-}
case $target in
'') ;;
aarch64-unknown-linux-gnu)
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc ;;
armv7-unknown-linux-gnueabihf)
    export CARGO_TARGET_ARMV7_UNKNOWN_LINUX_GNUEABIHF_LINKER=arm-linux-gnueabihf-gcc ;;
*)
    echo "packaging/build.sh: there is no package for $target" >&2
    exit 2 ;;
esac

# The man pages and completions are those of the program as it is packaged, made on this machine.
$cargo build --release --no-default-features --bin liftmesh
out=target/package
rm -rf "$out"
mkdir -p "$out/completions"
program=target/release/liftmesh
"$program" man --out "$out/man"
"$program" completions bash >"$out/completions/liftmesh.bash"
"$program" completions zsh >"$out/completions/_liftmesh"
"$program" completions fish >"$out/completions/liftmesh.fish"
"$program" check-config --example >"$out/node.toml"
# A package owns /usr/bin; by hand the program is installed in /usr/local/bin.
sed 's|/usr/local/bin/liftmesh|/usr/bin/liftmesh|' config/liftmesh.service >"$out/liftmesh.service"
grep -q '^ExecStart=/usr/bin/liftmesh ' "$out/liftmesh.service"

if [ -n "$target" ]; then
    $cargo build --release --no-default-features --bin liftmesh --target "$target"
    exec $cargo deb --no-build --target "$target"
fi
exec $cargo deb --no-build
