# What `cargo xtask demo` runs in the guest: an inlined function by process, then by caller.

function=vfs_getattr_nosec

# Shows a command as one would type it, then runs it.
show() {
    printf '\n# '
    for word in "$@"; do
        case $word in
        *[!a-zA-Z0-9_:=./-]*) printf "'%s' " "$word" ;;
        *) printf '%s ' "$word" ;;
        esac
    done
    printf '\n'
    "$@" || exit
}

cat >workload.sh <<'END'
for i in 1 2 3; do
    /bin/ls -l / >/dev/null
    /bin/dd if=/dev/zero of=/tmp/file bs=4k count=16 2>/dev/null
    /bin/cat /tmp/file >/dev/null
    /bin/stat /tmp/file >/dev/null
done
END

echo "$(uname -sr), a stock Debian kernel; $function has no symbol of its own that every call would pass:"
grep -w "$function" /proc/kallsyms

show dtrace -dn "kinst::$function:entry { printf(\"\t%d\t%s\", pid, execname); }" -c 'sh workload.sh'
show dtrace -n "kinst::$function:entry { @[probefunc, execname] = count(); }" -c 'sh workload.sh'
