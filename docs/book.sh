#!/usr/bin/env bash
# Makes a site of the documentation: ./docs/book.sh, then open target/book/html/index.html.
#
# Needs mdbook: cargo install mdbook --no-default-features --features search
set -euo pipefail
cd "$(dirname "$0")/.."
if ! command -v mdbook >/dev/null; then
    sed -n '/^# Needs/s/^# //p' "$0" >&2
    exit 2
fi
book=target/book
rm -rf "$book"
mkdir -p "$book/src"
# The pages link to files all over the tree. Those that are linked go along.
cp docs/book.toml "$book/"
cp docs/SUMMARY.md README.md CHANGELOG.md LICENSE-* "$book/src/"
cp -r docs "$book/src/"
rm -f "$book"/src/docs/{SUMMARY.md,book.toml,book.sh}
grep -oh '](\.\./[^)#]*' docs/*.md | sed 's/^](\.\.\///' | sort -u | while read -r file; do
    mkdir -p "$book/src/$(dirname "$file")"
    cp "$file" "$book/src/$file"
done
# And those that the front page links to.
grep -oh '](config/[^)#]*' README.md | sed 's/^](//' | sort -u | while read -r file; do
    mkdir -p "$book/src/$(dirname "$file")"
    cp "$file" "$book/src/$file"
done
mdbook build "$book"
echo "$book/html/index.html"
