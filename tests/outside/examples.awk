# Prints the examples of a document, one a line: the commands of its blocks whose lines begin with a prompt, and among the words in backticks
# the commands and the descriptions of probes, each of which becomes a command. Two kinds are none: a shape, in which another name is to be
# put, and what is before an arrow, which is another system's. tests/outside/documents.rs compiles them, tests/vm/files/documents.sh runs them.

/^```/ { block = !block; next }

block {
	# The driver hello is an example itself, and not loaded.
	if (/hello:::| -P hello/)
		next
	if (sub(/^# dtrace /, "dtrace "))
		print
	next
}

{
	sub(/.*→/, "")
	count = split($0, words, "`")
	for (n = 2; n <= count; n += 2) {
		if (words[n] ~ /:f:|:f\.cold:|:NAME:|hello:::|-P hello|FUNCTION| FILE|caller:offset|module:function/)
			continue
		if (words[n] ~ /^(dtrace|inlinecall) /)
			print words[n]
		else if (words[n] ~ /^examples\/[a-z]+\.d /)
			print "dtrace -s " words[n]
		else if (words[n] ~ /^(kinst|fbt|syscall|sched|proc|io|sdt):/)
			print "dtrace -n '" words[n] "'"
	}
}
