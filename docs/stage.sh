#!/usr/bin/env bash
# Copies the documents, and the files of the tree that they link to, so that every link leads
# somewhere: docs/stage.sh DIRECTORY. For the site (docs/book.sh) and the Debian package.
set -euo pipefail
to=$(realpath -m "${1:?a directory}")
cd "$(dirname "$0")/.."
mkdir -p "$to"
shopt -s extglob
# The contents of the site have paths of the site.
pages=(README.md CHANGELOG.md docs/!(SUMMARY).md docs/*/*.md)
{
    printf '%s\n' "${pages[@]}"
    for page in "${pages[@]}"; do
        # The target of each link, but for those to other hosts and within the page.
        grep -oE '\]\([^)]+\)' "$page" | sed -E 's/^\]\(//; s/#.*$//; s/\)$//' |
            grep -vE '^$|^[a-z]+:' |
            while read -r target; do
                realpath -m --relative-to . "$(dirname "$page")/$target"
            done || true
    done
} | sort -u | while read -r file; do
    [ -f "$file" ] || {
        echo "docs/stage.sh: there is no file $file, which a document links to" >&2
        exit 1
    }
    mkdir -p "$to/$(dirname "$file")"
    cp "$file" "$to/$file"
done
