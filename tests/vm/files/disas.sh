# disas.sh: compares dtrace --disas from the file only with the module's results from memory.
# Sets of lines `function offset|bytes|rewritten|verdict`, where the verdict is `ok` or the reason.
verdicts() {
    sed -n 's/.*"bytes":"\([0-9a-f]*\)".*"function":"\([^"]*\)".*"offset":\([0-9]*\),"reason":\([^}]*\),"rewritten":\([^,]*\),"text.*/\2 \3|\1|\5|\4/p' |
        sed 's/|null|/|-|/; s/null$/ok/; s/"//g'
}

# Every nth function of the kernel proper, and the functions in the arguments.
choose() {
    nth=$1
    shift
    awk -v nth="$nth" '$2 ~ /^[tT]$/ && NF == 3 && $3 !~ /^(__pfx_|__cfi_|_text|_stext|_etext)/ && $3 !~ /[.$]/ { all[++n] = $3; seen[$3]++ }
        END { for (i = 1; i <= n; i += nth) if (seen[all[i]] == 1) print "vmlinux:" all[i] }' /proc/kallsyms
    printf 'vmlinux:%s\n' "$@"
}

both() {
    sort -u "$1" | sed 's/^/--disas\n/' >/tmp/arguments
    xargs dtrace --json </tmp/arguments 2>/tmp/live.err | verdicts | sort -u >/tmp/live
    xargs dtrace --json --sysroot / </tmp/arguments 2>/tmp/file.err | verdicts | sort -u >/tmp/file
}

# Counts of agreement; each disagreement with its class.
compare() {
    awk -F'|' 'NR == FNR { live[$1] = $4; bytes[$1] = $2; n++; next }
        { m++; file[$1] = $4
          if (!($1 in live)) { only_file[$4 == "init code, freed after boot" ? "gone" : ($3 != "-" ? "rewritten" : "other")]++
              if ($4 != "init code, freed after boot" && $3 == "-") print "only in the file: " $0; next }
          if (live[$1] == $4) { same[$4]++; equal++; next }
          # The module works out at load what runs before its handler; the file does not say.
          if (live[$1] ~ /trap handler$/) { trap++; next }
          why = $3 != "-" ? "rewritten at boot" : (bytes[$1] != $2 ? "other bytes" : "same bytes")
          differ[why]++
          print why ": " $1 ": the file says " $4 ", the module " live[$1] " (" $2 " / " bytes[$1] ")" }
        END { for (at in live) if (!(at in file)) { only_live++ }
            for (verdict in same) print "both: " same[verdict] " " verdict
            printf "%d instructions live, %d in the file, %d with the same verdict\n", n, m, equal
            for (why in differ) print differ[why] " differ: " why
            for (why in only_file) print only_file[why] " only in the file: " why
            print trap + 0 " on the path to the trap handler"
            print only_live + 0 " only in memory" }' /tmp/live /tmp/file
}
