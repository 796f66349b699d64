#!/usr/bin/env bash
# Installs a package with the system's own dpkg, runs the node, removes and purges it. As root; this
# machine's files are used through an overlay, so that it stays as it is:
#
#   packaging/test.sh target/debian/liftmesh_0.1.0-1_amd64.deb
set -euo pipefail
if [ "${2:-}" != inside ]; then
    exec unshare --mount --propagation private "$0" "$(realpath "$1")" inside
fi
package=$1
root=$(mktemp -d)
mount -t tmpfs liftmesh-package-test "$root"
mkdir "$root"/{upper,work,merged}
mount -t overlay overlay -o "lowerdir=/,upperdir=$root/upper,workdir=$root/work" "$root/merged"
trap 'umount -lR "$root" && rmdir "$root"' EXIT
# What is in a mount of its own, such as /tmp, is not in the overlay.
for directory in proc dev; do mount --rbind "/$directory" "$root/merged/$directory"; done
for directory in tmp run; do mount -t tmpfs tmpfs "$root/merged/$directory"; done
cp "$package" "$root/merged/tmp/liftmesh.deb"

cat >"$root/merged/tmp/test" <<'INSIDE'
set -eu
fail() { echo "packaging/test.sh: $*" >&2; exit 1; }
export DEBIAN_FRONTEND=noninteractive
if ! command -v adduser >/dev/null; then
    apt-get install -y -qq --no-install-recommends adduser >/dev/null
fi
dpkg -i /tmp/liftmesh.deb
getent passwd liftmesh >/dev/null || fail 'there is no user liftmesh'
for file in /usr/bin/liftmesh /usr/lib/systemd/system/liftmesh.service /etc/liftmesh/node.toml \
    /usr/share/man/man1/liftmesh-status.1.gz /usr/share/doc/liftmesh/copyright \
    /usr/lib/systemd/system/liftmesh-caretaker.service \
    /usr/share/bash-completion/completions/liftmesh /usr/share/liftmesh/prometheus-alerts.yml \
    /usr/share/doc/liftmesh/docs/OPERATIONS.md /usr/share/doc/liftmesh/docs/images/panel.png \
    /usr/share/doc/liftmesh/config/bank/A.toml /usr/share/doc/liftmesh/config/mosquitto/liftmesh.acl \
    /usr/share/doc/liftmesh/examples/call_a_car.py; do
    # dpkg may be told to leave documentation out.
    dpkg -L liftmesh | grep -qx "$file" || fail "$file is not in the package"
done
dpkg-query -W -f '${Conffiles}\n' liftmesh | grep -q /etc/liftmesh/node.toml || fail 'no conffile'
liftmesh check-config --config /etc/liftmesh/node.toml >/dev/null

# As systemd does: a directory of its own, and the user of the package.
install -d -o liftmesh -g liftmesh -m 700 /var/lib/liftmesh
as_user() { setpriv --reuid liftmesh --regid liftmesh --clear-groups "$@"; }
# Not by a function, whose process would be a shell's.
setpriv --reuid liftmesh --regid liftmesh --clear-groups liftmesh run --unit A --role indicator --address 127.0.0.1 --floors 4 \
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
echo "alone, $(grep VmRSS /proc/$node/status | tr -s '\t ' ' '), $(((after - before) * 1000 / $(getconf CLK_TCK) / 10)) ms of CPU a second"
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
chroot "$root/merged" sh /tmp/test
