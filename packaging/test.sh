#!/usr/bin/env bash
# Installs a package with the system's own dpkg, runs the node, removes and purges it. As root; this
# machine's files are used through an overlay, so that it stays as it is:
#
#   packaging/test.sh target/debian/liftmesh_0.1.0-1_amd64.deb
#   packaging/test.sh target/aarch64-unknown-linux-gnu/debian/liftmesh_0.1.0-1_arm64.deb
#
# A package for another architecture is run by qemu-user, through binfmt_misc where that is set up.
# Needs qemu-user-static (apt-get install). apt fetches into the overlay what such a package depends
# on, so that dpkg checks it like any other: needs a network, and sources in /etc/apt that have the
# architecture, as Debian's have.
set -euo pipefail
if [ "${2:-}" != inside ]; then
    exec unshare --mount --propagation private "$0" "$(realpath "$1")" inside
fi
package=$1
fail() {
    echo "packaging/test.sh: $*" >&2
    exit 1
}
root=$(mktemp -d)
mount -t tmpfs liftmesh-package-test "$root"
mkdir "$root"/{upper,work,merged}
mount -t overlay overlay -o "lowerdir=/,upperdir=$root/upper,workdir=$root/work" "$root/merged"
trap 'umount -lR "$root" && rmdir "$root"' EXIT
# What is in a mount of its own, such as /tmp, is not in the overlay.
for directory in proc dev; do mount --rbind "/$directory" "$root/merged/$directory"; done
for directory in tmp run; do mount -t tmpfs tmpfs "$root/merged/$directory"; done
cp "$package" "$root/merged/tmp/liftmesh.deb"

foreign=$(dpkg-deb --field "$package" Architecture)
if [ "$foreign" = "$(dpkg --print-architecture)" ]; then
    foreign=
else
    case $foreign in
    arm64) machine=aarch64 ;;
    armhf) machine=arm ;;
    amd64) machine=x86_64 ;;
    *) fail "the program for $foreign can't be run here: amd64, arm64 or armhf" ;;
    esac
    # Without its C library it fails in any case. 126 means that the kernel can't even start it: it
    # has neither the architecture nor, by binfmt_misc, an emulator of it.
    dpkg-deb --extract "$package" "$root/probe"
    status=0
    "$root/probe/usr/bin/liftmesh" --version >/dev/null 2>&1 || status=$?
    if [ $status = 126 ]; then
        qemu=$(command -v "qemu-$machine-static" || command -v "qemu-$machine") ||
            fail "this machine can't run a program for $foreign: apt-get install qemu-user-static"
        # Ahead of /usr/bin in PATH, for maintainer scripts too.
        printf '#!/bin/sh\nexec %s /usr/bin/liftmesh "$@"\n' "$qemu" \
            >"$root/merged/usr/local/bin/liftmesh"
        chmod 755 "$root/merged/usr/local/bin/liftmesh"
    fi
    # For apt. It may be a link into /run, or a mount of its own.
    if [ -e /etc/resolv.conf ]; then
        cp --remove-destination "$(realpath /etc/resolv.conf)" "$root/merged/etc/resolv.conf"
    fi
fi

cat >"$root/merged/tmp/test" <<'INSIDE'
set -eu
fail() { echo "packaging/test.sh: $*" >&2; exit 1; }
export DEBIAN_FRONTEND=noninteractive
if [ -n "$foreign" ]; then
    PATH=/usr/local/bin:$PATH
    dpkg --add-architecture "$foreign"
    apt-get update -qq || true
    dpkg-deb --field /tmp/liftmesh.deb Depends | tr , '\n' |
        sed "s/^ *\([^ (|:]*\).*/\1:$foreign/" >/tmp/depends
    xargs apt-get install -y -qq --no-install-recommends </tmp/depends >/dev/null ||
        fail "apt can't install $(xargs </tmp/depends): it needs a network, and a source for $foreign"
fi
if ! command -v adduser >/dev/null; then
    apt-get install -y -qq --no-install-recommends adduser >/dev/null
fi
dpkg -i /tmp/liftmesh.deb
getent passwd liftmesh >/dev/null || fail 'there is no user liftmesh'
for file in /usr/bin/liftmesh /usr/bin/elevator-simulator /usr/lib/systemd/system/liftmesh.service /etc/liftmesh/node.toml \
    /usr/share/doc/liftmesh/copyright \
    /usr/lib/systemd/system/liftmesh-caretaker.service \
    /usr/share/liftmesh/prometheus-alerts.yml \
    /usr/share/doc/liftmesh/docs/OPERATIONS.md /usr/share/doc/liftmesh/docs/images/panel.png \
    /usr/share/doc/liftmesh/config/bank/A.toml /usr/share/doc/liftmesh/config/mosquitto/liftmesh.acl \
    /usr/share/doc/liftmesh/examples/call_a_car.py; do
    # dpkg may be told to leave documentation out.
    dpkg -L liftmesh | grep -qx "$file" || fail "$file is not in the package"
done
dpkg-query -W -f '${Conffiles}\n' liftmesh | grep -q /etc/liftmesh/node.toml || fail 'no conffile'
liftmesh check-config >/dev/null

# As an integrator configures it. What only this test needs follows in flags.
sed -i 's/^car = "A"$/role = "indicator"\nunit = "A"/' /etc/liftmesh/node.toml

# As systemd does: a directory of its own, and the user of the package.
install -d -o liftmesh -g liftmesh -m 700 /var/lib/liftmesh
as_user() { setpriv --reuid liftmesh --regid liftmesh --clear-groups "$@"; }
# Not by a function, whose process would be a shell's.
setpriv --reuid liftmesh --regid liftmesh --clear-groups liftmesh run --address 127.0.0.1 --floors 4 \
    --broadcast 127.255.255.255:46177 --link-port 46177 --data-dir /var/lib/liftmesh &
node=$!
trap 'kill $node 2>/dev/null || true' EXIT
for _ in $(seq 100); do
    if status=$(as_user liftmesh status --data-dir /var/lib/liftmesh 2>/dev/null); then break; fi
    sleep 0.1
done
echo "$status" | grep -q '^Node A: master' || fail 'the node does not run'
ticks() { awk '{print $14 + $15}' /proc/$node/stat; }
before=$(ticks); sleep 10; after=$(ticks)
case $(readlink /proc/$node/exe) in
*/qemu-*) how='alone, emulated' ;;
*) how=alone ;;
esac
echo "$how, $(grep VmRSS /proc/$node/status | tr -s '\t ' ' '), $(((after - before) * 1000 / $(getconf CLK_TCK) / 10)) ms of CPU a second"
kill $node
wait $node || fail "the node ended with $?"

# As if systemd ran: what an upgrade and a removal ask of it.
mkdir -p /run/systemd/system
printf '#!/bin/sh\necho "$@" >>/tmp/systemctl.log\n' >/usr/local/sbin/systemctl
chmod 755 /usr/local/sbin/systemctl
PATH=/usr/local/sbin:$PATH
asked() { grep -qx "$1" /tmp/systemctl.log || fail "systemd was not asked for: $1"; }
dpkg -i /tmp/liftmesh.deb
asked 'try-restart liftmesh.service liftmesh-caretaker.service'
dpkg -r liftmesh
asked 'disable --now liftmesh.service'
asked 'stop liftmesh-caretaker.service'
[ ! -e /usr/bin/liftmesh ] || fail 'the program is left over'
[ -e /etc/liftmesh/node.toml ] || fail 'the configuration is gone after a removal'
[ -e /var/lib/liftmesh/journal.redb ] || fail 'the journal is gone after a removal'
dpkg -P liftmesh
[ ! -e /etc/liftmesh/node.toml ] || fail 'the configuration is left over after a purge'
[ ! -e /var/lib/liftmesh ] || fail 'the data is left over after a purge'
echo 'installed, ran, removed and purged'
INSIDE
foreign=$foreign chroot "$root/merged" sh /tmp/test
