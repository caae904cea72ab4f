# What `cargo xtask demo` runs in the guest: an inlined function by process, then by the functions that it is in.

function=fsnotify_open

. ./show.sh

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
