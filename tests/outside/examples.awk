# Prints the examples of a document, one per line: the lines of its code blocks that begin with a prompt, and the
# commands and probe descriptions in backticks; each description becomes a command. Excluded are templates, which
# contain a placeholder, and text before an arrow, which is for another system. tests/outside/documents.rs compiles
# the examples, tests/vm/files/documents.sh runs them.

/^```/ { block = !block; next }

block {
	# The driver hello is an example itself, and is not loaded.
	if (/hello:::| -P hello/)
		next
	# Examples in programs need the program; another test reads them.
	if (/pid\$target|uprobe:/)
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
