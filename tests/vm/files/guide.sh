# Runs a page of the guide as its reader would, and compares each command's output with the page: guide.sh PAGE. With
# --write, the page is printed, with the new output of the commands that differ.

write=
[ "$1" = --write ] && write=1 && shift
page=$1
steps=$(mktemp -d)
awk -v out="$steps" -f guide.awk "$page" || exit
# The index of inlined functions is made at first use: do it before, so that the pages do not measure it.
[ -e index.out ] || dtrace -l -n 'kinst::get_page:entry' >index.out

# Runs the command of a step. A command that a user ends with Ctrl-C is ended some seconds after its probes were armed,
# but not by SIGINT, which a shell without job control makes its background commands ignore.
run() {
    # Appended to, as the command and its children write to it at the same time.
    : >"$1.got"
    if ! grep -q '^^C$' "$1.want"; then
        timeout -s KILL 100 sh -c "$(cat "$1.command")" >>"$1.got" 2>&1 </dev/null
        return
    fi
    seconds=$(sed -n 's/.*for: *\([0-9]*\).*/\1/p' "$1.how")
    sh -c "exec $(cat "$1.command")" >>"$1.got" 2>&1 </dev/null &
    tracer=$!
    tries=0
    until grep -v -e '^dtrace: warning' -e '^ ' "$1.got" | grep -q . || [ $tries -ge 300 ]; do
        tries=$((tries + 1))
        sleep 0.2
    done
    sleep "${seconds:-3}"
    kill -TERM $tracer
    (sleep 20; kill -KILL $tracer) >/dev/null 2>&1 &
    watch=$!
    wait $tracer
    kill $watch 2>/dev/null
}

checked() {
    begin=$(date +%s)
    # Other activity of the system may interfere, such as an unrelated sleep or a scheduler tick, but not three times.
    agrees=
    for try in 1 2 3; do
        run "$1"
        said=$(awk -v how="$(cat "$1.how")" -f guide.cmp.awk "$1.want" "$1.got") && agrees=1 && break
    done
    if [ $agrees ]; then
        echo "ok $(basename "$page"): $(head -n 1 "$1.command") ($(($(date +%s) - begin)) s)"
        rm "$1.lines"
    else
        echo "FAIL $(basename "$page"): $(cat "$1.command"): $said"
        sed 's/^/    /' "$1.got" | head -n 60
    fi
}

for step in "$steps"/*; do
    case $step in
    *.setup) . "$step" >/dev/null 2>&1 ;;
    *.name) mkdir -p "$(dirname "$(cat "$step")")"; cp "${step%.name}.file" "$(cat "$step")" ;;
    *.command) if [ $write ]; then checked "${step%.command}" >&2; else checked "${step%.command}"; fi ;;
    esac
done
# The loads of the page.
kill $(jobs -p) 2>/dev/null
[ $write ] || exit 0

# From the last to the first, as the line numbers refer to the original page.
cp "$page" "$steps/page"
for lines in $(ls -r "$steps"/*.lines 2>/dev/null); do
    read -r first last <"$lines"
    { head -n $((first - 1)) "$steps/page"; cat "${lines%.lines}.got"; tail -n +$((last + 1)) "$steps/page"; } >"$steps/new"
    mv "$steps/new" "$steps/page"
done
cat "$steps/page"
