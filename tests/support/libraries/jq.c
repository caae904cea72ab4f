/* jq.c: filters of jq, on an object and on arrays. */
#include <jv.h>
#include <jq.h>

#include "text.h"

static const char *const filters[] = {
	".a[2].b, .s, (.a | length), keys",
	"[range(60)] | map(select(. % 3 == 0) | . * .) | add, (sort_by(-.) | .[0:3]), group_by(. % 4)",
	".s | split(\" \") | map(ascii_upcase) | unique | join(\"-\"), (.[0] | explode | implode)",
	"reduce .a[] as $x (0; . + ($x | tostring | length)), [paths], [.. | numbers], (tojson | fromjson | .a | length)",
	"try error(\"no\") catch ., (.none // \"default\"), ([limit(3; repeat(1))] | length), @base64 \"\\(.s)\", ([1,[2]] | flatten)",
	"def f(n): if n < 2 then n else f(n - 1) + f(n - 2) end; f(9), (to_entries | from_entries | . == .), (.a |= reverse | .a[1])",
	"[.a[] | objects] | .[0].b as [$p, {q: $r}] | {$p, $r}, ([\"x\", \"y\"] | to_entries | map(\"\\(.key)\\(.value)\")), (1e3 | sqrt | floor)",
};

static const char input[] = "{\"s\": \"the quick brown fox \\u00e9 \\ud83d\\ude00 jumps\", \"n\": -12.5e-3, "
			    "\"a\": [1, true, {\"b\": [3, {\"q\": null}]}, \"t\", [], 1e100, 17]}";

int main(void)
{
	for (size_t i = 0; i < sizeof(filters) / sizeof(*filters); i++) {
		jq_state *jq = jq_init();
		jv value;

		if (!jq_compile(jq, filters[i]))
			abort();
		jq_start(jq, jv_parse(input), 0);
		while (jv_is_valid(value = jq_next(jq))) {
			jv shown = jv_dump_string(value, i % 2 ? JV_PRINT_SORTED : JV_PRINT_PRETTY);

			printf("%zu: %s\n", i, jv_string_value(shown));
			jv_free(shown);
		}
		jv_free(value);
		jq_teardown(&jq);
	}
	return 0;
}
