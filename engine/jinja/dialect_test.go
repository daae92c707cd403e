package jinja

import "testing"

// TestDialect renders with the tables of an interpreter that is not Jinja2's.
func TestDialect(t *testing.T) {
	d := &Dialect{
		Builtins: map[Kind][]string{
			None:      {"default", "string"},
			Undefined: {"default", "length", "lower", "list"},
			Int:       {"default", "abs"},
			String: {"default", "upper", "strip", "lower", "length", "format", "safe", "replace",
				"split"},
			List: {"default", "map", "selectattr", "list", "join", "first", "length",
				"append"},
			Dict: {"items", "keys", "get", "default"},
		},
		Functions: []string{"raise_exception", "namespace", "range"},
	}
	const none = "error TemplateRuntimeError: t:1:"
	for _, tt := range []struct{ text, want string }{
		{"{{ 'a'.upper() }}{{ ' a '.strip() }}{{ ' a '|trim }}{{ 'a'|upper }}{{ 'ab'|count }}", "Aaa" + "A2"},
		{"{{ 5|upper }}", "5"},
		{"{{ nope|upper }}", none + "9: the engine's Jinja has no filter 'upper' for undefined"},
		{"{{ 'a'|title }}", "A"},
		{"{{ [1]|first }}{{ (1, 2)|length }}{{ {}.items()|list }}{{ range(2)|join('-') }}", "120-1"},
		{"{{ [1]|sum }}", none + "8: the engine's Jinja has no filter 'sum' for list"},
		{"{{ ['a']|map('upper') }}", none + "10: the engine's Jinja maps attributes alone"},
		{"{{ [{'a': 1}]|map(attribute='a')|list }}{{ [{'a': 1}]|selectattr('a')|length }}", "11"},
		{"{{ none|default('d') }}{{ nope|d('e') }}{{ 0|default(1) }}{{ none|default }}", "de0"},
		{"{{ '{}-{}'|format(1, 2) }}{{ '{}'.format(3) }}", "1-23"},
		{"{{ '<'|safe }}{{ ('<'|safe)|upper }}", "<<"},
		{"{{ [1, [2, 'a'], none] }}|{{ {'a': 1} }}|{{ none }}|{{ 1.5 }}{{ true }}{{ nope }}", "12a|||1.5True"},
		{"{{ nope.a.b }}{{ 'a' + nope }}{{ nope + 'b' }}{{ 'a' + 1 }}{{ 1 + 'a' }}", "aba11a"},
		{"{{ 'a' ~ none ~ 1 ~ nope }}", "a1"},
		{"{{ 1 in [1] }}{{ 'a' in 'ab' }}{{ 'a' in nope }}{{ nope in nope }}", "TrueTrueFalseFalse"},
		{"{{ nope in ['a'] }}", "error UndefinedError: t:1:9: 'nope' is undefined, and the engine's Jinja looks for it in nothing"},
		{"{% for c in 'ab' %}{{ c }}{% endfor %}", "error TypeError: t:1:13: the engine's Jinja does not go through the characters of a text"},
		{"{% for x in [1, 2] %}{% if y is defined %}{{ y }}{% endif %}{% set y = x %}{% endfor %}", "1"},
		{"{% for x in [1, 2, 3] %}a{% if x == 2 %}b{% break %}{% endif %}{{ x }}{% endfor %}", "a1a"},
		{"{% for x in [1, 2] %}{% if x == 1 %}b{% continue %}{% endif %}{{ x }}{% endfor %}", "2"},
		{"{% macro m(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(1, 3) }}{{ m(1, b=4) }}{{ m(b=4) }}", "1213142"},
		{"{% macro m(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ m() }}", "error TypeError: t:1:54: the engine's Jinja needs an argument for the parameter 'a' of 'm', which has no default"},
		{"{{ lipsum() }}", "error UndefinedError: t:1:10: 'lipsum' is undefined"},
		{"{{ {'a': 1}.get('a') }}{{ {'upper': 1}.upper }}{{ {'a': 1}.values is defined }}", "11False"},
		{"{% set n = namespace(a=1) %}{{ n.a }}{{ range(2)|length }}", "12"},
	} {
		if got := render(t, tt.text, "", Options{Dialect: d, Mode: Mutable}); got != tt.want {
			t.Errorf("%s\n got %q\nwant %q", tt.text, got, tt.want)
		}
	}
}
