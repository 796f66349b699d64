#!/usr/bin/env bash
# Makes a site of the documentation, with the playground in it: ./docs/book.sh
#
# The site is target/book/html. The playground needs a web server, such as
# python3 -m http.server --bind 127.0.0.1 --directory target/book/html 8000
#
# Needs mdbook: cargo install --root target/tools mdbook --no-default-features --features search
# Needs what playground/build.sh needs, of which it installs wasm-bindgen.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PATH:$PWD/target/tools/bin"
if ! command -v mdbook >/dev/null; then
    sed -n '/^# Needs/s/^# //p' "$0" >&2
    exit 2
fi
book=target/book
rm -rf "$book"
mkdir -p "$book/src"
cp docs/book.toml "$book/"
docs/stage.sh "$book/src"
cp docs/SUMMARY.md "$book/src/"
# The page about the playground shows it. Elsewhere than on the site there is nothing to show.
sed -i '1r /dev/stdin' "$book/src/docs/PLAYGROUND.md" <<'FRAME'

<iframe src="../playground/index.html" title="The playground" style="width: 100%; height: 85vh; border: 1px solid #ccc"></iframe>

[The playground in a tab of its own](../playground/index.html)
FRAME
mdbook build "$book"
./playground/build.sh "$book/html/playground"
echo "$book/html/index.html"
