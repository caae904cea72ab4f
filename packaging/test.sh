#!/bin/sh
# Installs, upgrades and purges the packages, as root of a plain Debian system whose apt has only /pool:
#   test.sh VERSION NEWER RELEASE OTHER
# /packages has the packages in both versions; RELEASE and OTHER are two kernels of the same series.
set -eu
version=$1 newer=$2 release=$3 other=$4
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin

fail() {
    echo "FAIL  $*" >&2
    exit 1
}
ok() { echo "ok    $*"; }
install() { apt-get -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends install "$@" >/tmp/apt.log 2>&1 || { cat /tmp/apt.log >&2; fail "apt-get install $*"; }; }
purge() { apt-get -qq -y -o Dpkg::Use-Pty=0 purge "$@" >/tmp/apt.log 2>&1 || { cat /tmp/apt.log >&2; fail "apt-get purge $*"; }; }
module() { find "/lib/modules/$1" -name 'kinst.ko*' | grep . || fail "no module for $1"; }
no_module() { ! find "/lib/modules/$1" -name 'kinst.ko*' | grep -q . || fail "a module for $1 is left"; }
is_ours() { [ "$(readlink -f "$(command -v dtrace)")" = /usr/bin/kinst ] || fail "dtrace is $(command -v dtrace), not kinst, $*"; }
files() { find / -xdev \( -path /proc -o -path /tmp -o -path /packages -o -path /pool \) -prune -o -print | sort; }

apt-get -qq update
! command -v cargo || fail "this system has Rust"

begin=$(date +%s)
# Without openssl, DKMS makes no key and signs nothing.
install openssl "linux-headers-$release" "/packages/kinst_${version}_amd64.deb" "/packages/kinst-dkms_${version}_all.deb"
module "$release" >/dev/null
ok "apt install builds the module for $release with dkms, compiler and headers: $(($(date +%s) - begin)) s"
[ "$(modinfo -F vermagic "$(module "$release")" | cut -d' ' -f1)" = "$release" ] || fail "the module is for another kernel"
modinfo -F signer "$(module "$release")" | grep -q . || fail "the module is not signed"
ok "signed by: $(modinfo -F signer "$(module "$release")")"
kinst -V | grep -q "kinst $version" || fail "kinst -V does not say $version"
is_ours "after the installation"
dtrace -V | grep -q '^dtrace: ' || fail "dtrace does not call itself dtrace"
ok "kinst and dtrace are the same program"
printf '#!/usr/sbin/dtrace -es\nBEGIN { exit(0); }\n' >/tmp/script.d
chmod +x /tmp/script.d
/tmp/script.d || fail "a script that begins with #!/usr/sbin/dtrace does not start"
ok "a script begins with #!/usr/sbin/dtrace"
# A system may be configured without documents.
documents=/usr/share/doc/kinst
if [ -e "$documents/README.md" ]; then
    for page in README.md docs/guide/src/about.md docs/guide/src/SUMMARY.md; do
        for link in $(grep -o '](\([^):#]*\)' "$documents/$page" | cut -c3- | grep -v '^http'); do
            [ -e "$documents/$(dirname "$page")/$link" ] || fail "$page links to $link, which does not exist"
        done
    done
    ok "the links of README.md and the guide lead to files of the package"
fi

purge kinst kinst-dkms
no_module "$release"
# Dependencies stay installed, including those of the other package with a dtrace: take the list for the comparison now.
install systemtap-sdt-dev
purge systemtap-sdt-dev
files >/tmp/before
install "/packages/kinst_${version}_amd64.deb" "/packages/kinst-dkms_${version}_all.deb"
module "$release" >/dev/null
ok "a second installation"

install "linux-headers-$other"
dkms status -m kinst -v "$version" -k "$other" | grep -q installed || dkms autoinstall -k "$other" >/tmp/apt.log 2>&1 || cat /tmp/apt.log >&2
module "$other" >/dev/null
ok "another kernel, $other, gets its module when it is installed"

install "/packages/kinst_${newer}_amd64.deb" "/packages/kinst-dkms_${newer}_all.deb"
module "$release" >/dev/null
[ ! -e "/usr/src/kinst-$version" ] || fail "/usr/src/kinst-$version is left after the upgrade"
[ "$(dkms status -m kinst | cut -d, -f1 | sort -u)" = "kinst/$newer" ] || fail "DKMS has $(dkms status -m kinst)"
kinst -V | grep -q "kinst $newer" || fail "kinst -V does not say $newer"
is_ours "after the upgrade"
ok "upgrade from $version to $newer"

# Other packages with a dtrace: their command works in both orders of installation; dtrace is kinst again afterwards.
install systemtap-sdt-dev
dpkg-query --search /usr/bin/dtrace >/dev/null && [ ! -L /usr/bin/dtrace ] || fail "systemtap-sdt-dev's dtrace is missing"
dtrace -h -s /packages/test.d -o /tmp/test.h && grep -q TEST_ /tmp/test.h || fail "systemtap-sdt-dev's dtrace does not work"
ok "systemtap-sdt-dev after kinst: its dtrace is /usr/bin/dtrace, and works"
purge systemtap-sdt-dev
is_ours "after systemtap-sdt-dev went"
ok "systemtap-sdt-dev removed: dtrace is kinst again"
purge kinst
for name in /usr/bin/dtrace /usr/sbin/dtrace; do
    [ ! -e "$name" ] && [ ! -L "$name" ] || fail "$name is left"
done
install systemtap-sdt-dev
install "/packages/kinst_${newer}_amd64.deb"
dtrace -h -s /packages/test.d -o /tmp/test.h && grep -q TEST_ /tmp/test.h || fail "systemtap-sdt-dev's dtrace does not work"
kinst -V >/dev/null
ok "kinst after systemtap-sdt-dev: both work"
purge systemtap-sdt-dev
is_ours "after systemtap-sdt-dev went"
if ls /packages/dtrace_*.deb >/dev/null 2>&1; then
    # It is built for a newer system: its dependencies are missing, and its program is not run.
    dpkg --force-depends -i /packages/dtrace_*.deb >/tmp/apt.log 2>&1 || { cat /tmp/apt.log >&2; fail "dtrace"; }
    sum=$(md5sum </usr/sbin/dtrace)
    [ ! -e /usr/bin/dtrace ] || fail "dtrace is two programs"
    kinst -V >/dev/null
    dpkg --purge kinst >/tmp/apt.log 2>&1
    dpkg --force-depends -i "/packages/kinst_${newer}_amd64.deb" >/tmp/apt.log 2>&1
    [ "$(md5sum </usr/sbin/dtrace)" = "$sum" ] && [ ! -e /usr/bin/dtrace ] || fail "kinst changes /usr/sbin/dtrace"
    dpkg --purge dtrace >/tmp/apt.log 2>&1
    is_ours "after dtrace went"
    ok "the package dtrace and kinst, in both orders: dtrace is the package's program, kinst is our program"
fi

# Also removes the files that both flavours of the headers share.
purge --auto-remove "linux-headers-$other"
purge kinst kinst-dkms
files >/tmp/after
# Logs and caches of apt, dpkg and Python may stay, and so may depmod's index of a kernel that has only headers here.
index="^/usr/lib/modules/$other(/modules\\.[a-z.]+)?$"
left=$(comm -13 /tmp/before /tmp/after | grep -Ev "^/var/(log|cache|lib/(apt|dpkg))/|/__pycache__|$index" || :)
! grep kinst /lib/modules/*/modules.dep || fail "depmod's index names the module"
[ -z "$left" ] || fail "purge leaves: $left"
! find / -xdev \( -path /proc -o -path /tmp -o -path /packages -o -path /pool \) -prune -o -name '*kinst*' -print | grep . || fail "some of our files are left"
ok "purge leaves no file"
