# Completes COMMAND in bash: the command itself prints the candidates.
FUNCTION() {
	local line=${COMP_LINE:0:COMP_POINT} words=() word before i
	# A colon ends a word for bash: join words that no space separates.
	for ((i = 0; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		((i == COMP_CWORD)) && word=${line#"${line%%[![:space:]]*}"}
		before=${line%%"${word:- }"*}
		[[ -n $word ]] && line=${line#*"$word"}
		if ((i > 0)) && [[ -n $word ]] && [[ -z $before ]]; then
			words[${#words[@]} - 1]+=$word
		else
			words+=("$word")
		fi
	done
	local last=$((${#words[@]} - 1)) current prefix=
	current=${words[last]}
	# A quoted word is one word for bash too, and bash closes the quote itself.
	case $current in
	[\"\']*) current=${current:1} ;;
	*[:=]*) [[ $COMP_WORDBREAKS == *[:=]* ]] && prefix=${current%"${current##*[:=]}"} ;;
	esac
	words[last]=$current
	local IFS=$'\n'
	COMPREPLY=($(VARIABLE=bash _CLAP_IFS=$'\n' _CLAP_COMPLETE_INDEX=$last COMPLETER -- "${words[@]}" 2>/dev/null))
	COMPREPLY=("${COMPREPLY[@]#"$prefix"}")
	[[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[:=/] ]] && compopt -o nospace
}
complete -o bashdefault -o default -F FUNCTION COMMAND
