#!/usr/bin/env bash
# Writes a software bill of materials in the format CycloneDX: every crate of the program, and the
# libraries of the web panel, which are no crates.
#
#   packaging/sbom.sh FILE
#
# Needs cargo-cyclonedx and jq.
set -euo pipefail
[ $# = 1 ] || {
    echo "usage: packaging/sbom.sh FILE" >&2
    exit 2
}
out=$(realpath "$1")
cd "$(dirname "$0")/.."
for tool in cargo-cyclonedx jq; do
    command -v "$tool" >/dev/null || {
        echo "$tool is not installed" >&2
        exit 1
    }
done
work=$(mktemp -d)
name=sbom-$$
leave() {
    # One lies beside the manifest of each package.
    find . -name target -prune -o -name "$name.json" -exec rm -f {} +
    rm -rf "$work"
}
trap leave EXIT

cargo cyclonedx --quiet --format json --spec-version 1.5 --override-filename "$name"

# The rows of the table: | `file` | `package` version | … | licence, `file of the licence` |
sed -n 's/^| `\([^`]*\)` | `\([^`]*\)` \([^ ]*\) |.*| \([^ ,]*\), `[^`]*` |$/\1 \2 \3 \4/p' \
    web/vendor/README.md >"$work/rows"
listed=$(cut -d ' ' -f 1 "$work/rows" | sort)
present=$(find web/vendor -name '*.js' -o -name '*.css' | xargs -n 1 basename | sort)
[ "$listed" = "$present" ] || {
    echo "web/vendor/README.md does not list what is in web/vendor" >&2
    exit 1
}
while read -r file package version licence; do
    sum=$(sha256sum "web/vendor/$file" | cut -d ' ' -f 1)
    jq -n --arg file "$file" --arg package "$package" --arg version "$version" \
        --arg licence "$licence" --arg sum "$sum" '{
            type: "library",
            "bom-ref": "pkg:npm/\($package)@\($version)#\($file)",
            name: $package,
            version: $version,
            purl: "pkg:npm/\($package)@\($version)#\($file)",
            hashes: [{ alg: "SHA-256", content: $sum }],
            licenses: [{ license: { id: $licence } }]
        }'
done <"$work/rows" | jq -s . >"$work/vendored.json"
jq --slurpfile vendored "$work/vendored.json" '.components += $vendored[0]' "$name.json" >"$out"
echo "$out: $(jq '.components | length' "$out") components"
