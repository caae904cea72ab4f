# Compares the output of a command of the guide with the page: awk -v how=WORDS -f guide.cmp.awk WANT GOT. If they
# differ, it prints the first line of the page that is not found, and exits with 1.
#
# These may differ: a number that is a separate word, a PID in parentheses, a port from 32768 on, an address, the bars
# of a distribution and its number of rows. Everything else must be the same. A line `...` is any number of lines.

# Whether this number must equal the page's, by `exact` or `exact: 3 77`.
function is_exact(number) { return all_exact || (" " numbers " ") ~ (" " number " ") }

function word(text,    begin, end) {
	if (match(text, /^[([]*-?[0-9][0-9.]*[])%,;:.]*$/)) {
		begin = text
		sub(/-?[0-9].*$/, "", begin)
		end = text
		sub(/^[([]*-?[0-9][0-9.]*/, "", end)
		text = substr(text, length(begin) + 1, length(text) - length(begin) - length(end))
		return begin (is_exact(text) ? text : "N") end
	}
	if (match(text, /\([0-9]+\)/))
		text = substr(text, 1, RSTART) "N" substr(text, RSTART + RLENGTH - 1)
	if (match(text, /[0-9]\.[0-9]+:[3-6][0-9][0-9][0-9][0-9]$/))
		sub(/:[0-9]+$/, ":N", text)
	if (text ~ /^(0x)?ffff[0-9a-f]+$/ || text ~ /^0x[0-9a-f]+$/ && length(text) > 8)
		return "X"
	return text
}

function normal(line,    words, count, n, all) {
	if (!all_exact && line ~ /^ *-?[0-9]+ \|@* +[0-9]+ *$/)
		return "DISTRIBUTION"
	count = split(line, words, /[ \t]+/)
	for (n = 1; n <= count; n++)
		if (words[n] != "")
			all = all " " word(words[n])
	return all
}

function add(list, number, line) {
	if (line == "DISTRIBUTION" && list[number] == line)
		return number
	list[number + 1] = line
	return number + 1
}

# Whether the page's lines from a on equal the output's from b on. Records the furthest line that matched.
function same(a, b) {
	if (a - 1 > furthest)
		furthest = a - 1
	if (a > wanted)
		return b > got
	if (want[a] == " ...") {
		for (; b <= got + 1; b++)
			if (same(a + 1, b))
				return 1
		return 0
	}
	return b <= got && want[a] == have[b] && same(a + 1, b + 1)
}

# The same in any order, where a line `...` allows other lines.
function found(    a, b, rest, left) {
	left = got
	for (a = 1; a <= wanted; a++) {
		if (want[a] == " ...") {
			rest = 1
			continue
		}
		for (b = 1; b <= got && (taken[b] || have[b] != want[a]); b++)
			;
		if (b > got) {
			furthest = a - 1
			return 0
		}
		taken[b] = 1
		left--
	}
	furthest = wanted
	return rest || left == 0
}

BEGIN {
	any_order = how ~ /any order/
	all_exact = how ~ /exact *$/ || how ~ /exact [^:]/
	if (match(how, /exact: [-0-9. ]+/))
		numbers = substr(how, RSTART + 7, RLENGTH - 7)
}

# Blank lines are ignored.
!/[^ \t]/ { next }
FILENAME == ARGV[1] {
	# The terminal's echo of Ctrl-C.
	if ($0 == "^C")
		next
	wanted = add(want, wanted, normal($0))
	shown[wanted] = $0
	if (want[wanted] ~ /[a-zA-Z]/ && want[wanted] !~ /^ ?(N|DISTRIBUTION|\.\.\.)$/)
		fixed++
	next
}
{ got = add(have, got, normal($0)) }

END {
	wanted += 0
	got += 0
	# If any output would match, the page is wrong.
	if (wanted && !fixed && !all_exact && numbers == "") {
		print "no line of the page is fixed"
		exit 1
	}
	if (any_order ? found() : same(1, 1))
		exit 0
	print furthest < wanted ? "not found: " shown[furthest + 1] : "there is more than the page shows"
	exit 1
}
