# Splits a page of the guide, for guide.sh: awk -v out=FOLDER -f guide.awk PAGE writes its steps as FOLDER/001.KIND, 002.KIND …
#
#   NNN.setup            a hidden set-up: commands for the shell
#   NNN.file, .name      the contents of a file that the page shows, and its name
#   NNN.command          a command, with NNN.want, its expected lines, NNN.lines, the first and last of them in the page,
#                        and NNN.how, the words of the comment before its block
#
# docs/guide/src/about.md describes the notation.

function next_step() { step = sprintf("%s/%03d", out, ++steps) }

function begin_command(text) {
	next_step()
	command = text
	printf "" >(step ".want")
	print how >(step ".how")
	first = NR + 1
	in_command = 1
}

# Closes the current command, whose output ends before this line.
function end_command() {
	if (!in_command)
		return
	print command >(step ".command")
	print first, NR - 1 >(step ".lines")
	close(step ".command"); close(step ".want"); close(step ".lines"); close(step ".how")
	in_command = 0
}

# A comment of several lines is a set-up.
setup && /^-->$/ { setup = 0; close(step ".setup"); next }
setup { print >(step ".setup"); next }
/^<!-- setup$/ { next_step(); setup = 1; next }
/^<!-- setup: .* -->$/ {
	next_step()
	sub(/^<!-- setup: /, ""); sub(/ -->$/, "")
	print >(step ".setup")
	close(step ".setup")
	next
}
/^<!-- file: .* -->$/ { name = $3; next }
/^<!-- (exact|any order|for)/ { sub(/^<!-- /, ""); sub(/ -->$/, ""); how = how " " $0; next }

/^```console$/ { block = "console"; next }
/^```/ && !block {
	block = "other"
	if (name != "") {
		next_step()
		print name >(step ".name")
		printf "" >(step ".file")
	}
	next
}
/^```$/ {
	end_command()
	if (name != "")
		close(step ".file")
	block = name = how = ""
	next
}

block == "console" && /^# / {
	end_command()
	begin_command(substr($0, 3))
	continued = 1
	next
}
block == "console" && continued && /^> / { command = command "\n" substr($0, 3); first = NR + 1; next }
block == "console" { continued = 0; print >(step ".want"); next }
block == "other" && name != "" { print >(step ".file"); next }
