package reach_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/reach"
)

// TestUnreachable proves outcomes that are out of reach, and no others.
func TestUnreachable(t *testing.T) {
	for text, want := range map[string]string{
		`{% if 1 > 2 %}{% endif %}`:                                                                                         "",
		`{% if true %}{% endif %}`:                                                                                          "if false: the condition always holds",
		`{% if tools %}{% if not tools %}{% endif %}{% endif %}`:                                                            "if true: the condition never holds",
		`{% if tools %}{% elif messages and tools %}{% endif %}`:                                                            "elif true: the condition never holds",
		`{% if messages is string %}{% if tools %}{% endif %}{% endif %}`:                                                   "if false: nothing leads to this place; if true: nothing leads to this place; if true: the condition never holds",
		`{% if not add_generation_prompt is defined %}{% endif %}`:                                                          "if true: the condition never holds",
		`{% set x = 'a' %}{% if x == 'b' %}{% elif x == 'a' %}{% endif %}`:                                                  "elif false: the condition always holds; if true: the condition never holds",
		`{% set x = x or 'a' %}{% if x %}{% endif %}`:                                                                       "if false: the condition always holds",
		`{% macro f(a) %}{% if a %}{% endif %}{% endmacro %}`:                                                               "if false: no statement that is reached calls the macro f; if true: no statement that is reached calls the macro f",
		`{% macro f(a) %}{% if a %}{% endif %}{% endmacro %}{{ f(tools) }}`:                                                 "",
		`{% macro f(a=1) %}{% if a %}{% endif %}{% endmacro %}{{ f() }}`:                                                    "if false: the condition always holds",
		`{% macro f(a) %}{% if a %}{% endif %}{% endmacro %}{% set g = f %}`:                                                "",
		`{% macro f(n) %}{% if n %}{{ f(none) }}{% endif %}{% endmacro %}{{ f(1) }}`:                                        "",
		`{% set ns = namespace(a=false) %}{% if ns.a %}{% endif %}`:                                                         "if true: the condition never holds",
		`{% set ns = namespace(a=false) %}{% for m in messages %}{% if ns.a %}{% endif %}{% set ns.a = true %}{% endfor %}`: "",
		`{% set a = false %}{% for m in messages %}{% if a %}{% endif %}{% set a = true %}{% endfor %}`:                     "if true: the condition never holds",
		`{% for m in messages %}{% if loop.first %}{% elif loop.first %}{% endif %}{% endfor %}`:                            "elif true: the condition never holds",
		`{% for m in messages %}{% break %}{% endfor %}`:                                                                    "for repeated: the loop has one round",
		`{% for m in [] %}{% endfor %}`:                                                                                     "for entered: there is never anything to go through; for repeated: there is never anything to go through",
		`{% for m in messages %}{% if m.a is defined %}{% if m is string %}{% endif %}{% endif %}{% endfor %}`:              "if true: the condition never holds",
		`{% for m in messages %}{% if m.role == 'user' %}{% elif m['role'] in ['user', 'tool'] %}{% if m.role == 'tool' %}{% endif %}{% endif %}{% endfor %}`:                             "",
		`{% set messages = [{'role': 'user'}] %}{% for m in messages[::-1] %}{% if m.role == 'tool' or m.content %}{% endif %}{% endfor %}{% if messages[0].role == 'user' %}{% endif %}`: "for repeated: the loop has one round; if false: the condition always holds; if true: the condition never holds",
		`{% if tools %}{{ frob(tools) }}{{ 'a' if tools else 'b' }}{% endif %}`:                                                                                                           "inline if false: nothing leads to this place; inline if true: nothing leads to this place",
		`{% if tools %}{% set x = dict.from_keys(tools) %}{% if x %}{% endif %}{% endif %}`:                                                                                               "if false: nothing leads to this place; if true: nothing leads to this place",
		`{% set all = [] %}{% for m in messages %}{% set _ = all.append(m) %}{% endfor %}{% if all %}{% endif %}`:                                                                         "",
		`{% set all = [] %}{% macro f() %}{% set _ = all.append(1) %}{% endmacro %}{{ f() }}{% if all %}{% endif %}`:                                                                      "",
		`{% if tools %}{{ raise_exception('no') }}{% endif %}{{ 'x' if tools else 'y' }}`:                                                                                                 "inline if true: the condition never holds",
		`{% set day = strftime_now('%d') %}{% if day == '31' %}{% endif %}`:                                                                                                               "if false: the day decides it, which no request sets; if true: the day decides it, which no request sets",
		`{% set day = date or strftime_now('%d') %}{% if day == '31' %}{% endif %}`:                                                                                                       "",
		`{% if x is string %}{% elif x is iterable %}{% if x is mapping or x is sequence %}{% endif %}{% endif %}`:                                                                        "",
	} {
		var all []string
		for o, why := range reach.Unreachable(source.New("test", text)) {
			all = append(all, fmt.Sprintf("%s %s: %s", o.Kind, o.Outcome, why))
		}
		slices.Sort(all)
		if got := strings.Join(all, "; "); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}
