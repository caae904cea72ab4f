# Shows a command as typed, then runs it. For the demonstrations.
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
