# demo.sh: run in the guest by `cargo xtask demo`: an inlined function, entered and left, its callers, and a variable.

function=fsnotify_open

. ./show.sh

cat >workload <<'END'
#!/bin/sh
/bin/ls / >/dev/null
/bin/cat /etc/passwd /etc/group >/dev/null
/bin/touch /tmp/one /tmp/two /tmp/three
END
chmod +x workload

echo "$(uname -sr), as Debian ships it. $function() is inlined wherever it is used: of its name, the kernel's symbol
table has $(grep -cw "$function" /proc/kallsyms). kinst finds its copies in the debug information, where each begins and where each is left:"

show dtrace -l -n "kinst::$function:entry" -n "kinst::$function:return"
show dtrace -qn "
kinst::$function:entry  { @entered[probefunc] = count(); @files[execname, stringof(args[0]->f_path.dentry->d_name.name)] = count(); }
kinst::$function:return { @left[probefunc] = count(); }
END { printa(\"%-20s entered %@d times, left %@d times\n\", @entered, @left); printf(\"\n\"); printa(\"%-20s opened %-20s %@d times\n\", @files); }" -c ./workload
