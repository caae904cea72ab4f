# What `cargo xtask demo` runs in the guest: an inlined function by process, then by the functions that it is in.

function=fsnotify_open

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

cat >workload <<'END'
#!/bin/sh
/bin/ls / >/dev/null
/bin/dd if=/dev/zero of=/tmp/file bs=4k count=4 2>/dev/null
/bin/cat /tmp/file /etc/passwd >/dev/null
/bin/touch /tmp/file /tmp/other
END
chmod +x workload

echo "$(uname -sr), as Debian ships it. $function is inlined wherever it is used: the symbol table has $(
    grep -cw "$function" /proc/kallsyms) of it."

show dtrace -dn "kinst::$function:entry { printf(\"\\t%d\\t%s\", pid, execname); }" -c ./workload
show dtrace -n "kinst::$function:entry { @[probefunc] = count(); }" -c ./workload
