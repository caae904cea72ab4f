# Runs each program of programs/ with two output formats: prints the text and the objects of each, after marks.
#
# The programs trace this work, and each other.

while :; do
	./work 1 >/dev/null 2>&1
	cat /etc/passwd /no/such/file >/dev/null 2>&1
	ls -R /proc/self >/dev/null 2>&1
done &
work=$!

one() {
	number=${1##*/}
	number=${number%.d}
	timeout -k 5 200 dtrace -Z -x argref -x defaultargs -x bufsize=256k -x aggsize=256k -O text -O json=$number.json -s "$1" \
		-n 'tick-400ms { exit(0); }' 1 2 a b >$number.text 2>$number.err </dev/null
	echo "status $?" >>$number.err
}

for file in programs/*.d; do
	one "$file" &
	# A few at a time.
	while [ "$(jobs -p | wc -l)" -gt 3 ]; do
		sleep 0.05
		jobs >/dev/null
	done
done
# The last programs still need work to trace.
while [ "$(jobs -p | wc -l)" -gt 1 ]; do
	sleep 0.1
	jobs >/dev/null
done
kill $work
wait
for file in programs/*.d; do
	number=${file##*/}
	number=${number%.d}
	printf '\002text %s\n' $number
	cat $number.text
	printf '\002objects %s\n' $number
	cat $number.json 2>/dev/null
	printf '\002messages %s\n' $number
	cat $number.err
done
printf '\002end\n'
exit 0
