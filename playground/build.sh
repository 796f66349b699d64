#!/usr/bin/env bash
# Builds the playground as a static site: ./playground/build.sh [DIRECTORY]
#
# The site is written to target/playground, or to DIRECTORY. `liftmesh lab playground` serves it on
# this machine; any web server can serve it to others.
#
# Needs the target wasm32-unknown-unknown (rustup target add wasm32-unknown-unknown) and
# wasm-bindgen in the version of Cargo.lock, which is installed into target/tools where it is missing.
# What is served has a compressed copy beside it.
set -euo pipefail
# Relative to where the caller is.
site="${1:+$(realpath -m -- "$1")}"
cd "$(dirname "$0")/.."
site="${site:-target/playground}"
# A directory with something else in it is not emptied.
if [ -e "$site/assets" ] && [ ! -e "$site/assets/playground.js" ]; then
    echo "$site/assets is not the playground's: give another directory" >&2
    exit 2
fi
wasm=wasm32-unknown-unknown
if [ ! -d "$(rustc --print target-libdir --target "$wasm")" ]; then
    echo "the target $wasm is not installed: rustup target add $wasm" >&2
    exit 2
fi
version=$(cargo tree --package wasm-bindgen --depth 0 --target all --prefix none | sed -n '1s/^wasm-bindgen v//p')
export PATH="$PWD/target/tools/bin:$PATH"
if [ "$(wasm-bindgen --version 2>/dev/null)" != "wasm-bindgen $version" ]; then
    echo "installing wasm-bindgen $version below target/tools, once"
    env -u CARGO_TARGET_DIR CARGO_PROFILE_DEV_DEBUG=false CARGO_PROFILE_DEV_OPT_LEVEL=0 \
        cargo install --debug --locked --force --root target/tools \
        --version "$version" wasm-bindgen-cli
fi
echo "compiling the fleet to WebAssembly"
cargo build --package liftmesh-playground --profile playground --target "$wasm"
rm -rf "$site/assets"
mkdir -p "$site/assets"
# The names of functions are a sixth of what a page would fetch.
wasm-bindgen --target web --no-typescript --remove-name-section --out-dir "$site/fleet" \
    "${CARGO_TARGET_DIR:-target}/$wasm/playground/liftmesh_playground.wasm"
# The panel's own page is not a part of it.
cp -r web/. playground/page/. "$site/assets/"
mv "$site"/assets/{index,race}.html "$site/"
mkdir -p "$site/dispatchers"
cp integrations/dispatchers/*.{js,d.ts} "$site/dispatchers/"
rm -f "$site"/assets/{main,live}.js
find "$site/assets" "$site/fleet" -type f ! -name '*.gz' -exec gzip --best --keep --force {} +
echo "$site/index.html"
