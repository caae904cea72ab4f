# functions.sh N: N functions of the kernel's own text, spread over all of it, one name per line.
awk -v most="$1" '
$3 !~ /^(__pfx_|__SCT__|__x86_)/ && $2 ~ /^[tT]$/ && NF == 3 { names[n++] = $3 }
END { for (i = 0; i < most; i++) print names[int(i * n / most)] }' /proc/kallsyms
