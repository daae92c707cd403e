package reach_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/jinja/flow/reach"
	"github.com/goassay/assay/engine/source"
)

// TestUnreachable proves outcomes that are out of reach, and no others.
func TestUnreachable(t *testing.T) {
	short := strings.NewReplacer("the condition always holds", "always",
		"the condition never holds", "never", "nothing leads to this place", "no way",
		"no statement that is reached calls the macro", "uncalled",
		"there is never anything to go through", "nothing",
		"the day decides it, which no request sets", "the day",
		"the loop has one round", "one round", "the value before it is always empty", "empty",
		"the value before it is never empty", "full", "the value before it is always there", "there")
	for text, want := range map[string]string{
		`{% if 1 > 2 %}{% endif %}`:                              "if true: never",
		`{% if true %}{% endif %}`:                               "if false: always",
		`{% if tools %}{% if not tools %}{% endif %}{% endif %}`: "if true: never",
		`{% if tools %}{% elif messages and tools %}{% endif %}`: "elif true: never",
		`{% if messages is string %}{% if tools %}{% endif %}{% endif %}`: "if false: no way; " +
			"if true: never; if true: no way",
		`{% if not add_generation_prompt is defined %}{% endif %}`: "if true: never",
		`{% set x = 'a' %}{% if x == 'b' %}` +
			`{% elif x == 'a' %}{% endif %}`: "elif false: always; if true: never",
		`{% set x = x or 'a' %}{% if x %}{% endif %}`: "if false: always",
		`{% macro f(a) %}{% if a %}{% endif %}{% endmacro %}`: "if false: uncalled f; " +
			"if true: uncalled f",
		`{% macro f(a) %}{% if a %}{% endif %}{% endmacro %}{{ f(tools) }}`: "",
		`{% macro f(a=1) %}{% if a %}{% endif %}` +
			`{% endmacro %}{{ f() }}`: "if false: always",
		`{% macro f(a) %}{% if a %}{% endif %}{% endmacro %}{% set g = f %}`:         "",
		`{% macro f(n) %}{% if n %}{{ f(none) }}{% endif %}{% endmacro %}{{ f(1) }}`: "",
		`{% set ns = namespace(a=false) %}{% if ns.a %}` +
			`{% endif %}`: "if true: never",
		`{% set ns = namespace(a=false) %}{% for m in messages %}{% if ns.a %}` +
			`{% endif %}{% set ns.a = true %}{% endfor %}`: "",
		`{% set a = false %}{% for m in messages %}{% if a %}{% endif %}` +
			`{% set a = true %}{% endfor %}`: "if true: never",
		`{% for m in messages %}{% if loop.first %}{% elif loop.first %}{% endif %}` +
			`{% endfor %}`: "elif true: never",
		`{% for m in messages %}{% break %}{% endfor %}`: "for repeated: one round",
		`{% for m in [] %}{% endfor %}`: "for entered: nothing; " +
			"for repeated: nothing",
		`{% for m in messages %}{% if m.a is defined %}{% if m is string %}` +
			`{% endif %}{% endif %}{% endfor %}`: "if true: never",
		`{% for m in messages %}{% if m.role == 'user' %}` +
			`{% elif m['role'] in ['user', 'tool'] %}{% if m.role == 'tool' %}{% endif %}` +
			`{% endif %}{% endfor %}`: "",
		`{% set messages = [{'role': 'user'}] %}{% for m in messages[::-1] %}` +
			`{% if m.role == 'tool' or m.content %}{% endif %}{% endfor %}` +
			`{% if messages[0].role == 'user' %}` +
			`{% endif %}`: "for repeated: one round; if false: always; " +
			"if true: never",
		`{% if tools %}{{ frob(tools) }}` +
			`{{ 'a' if tools else 'b' }}{% endif %}`: "inline if false: no way; " +
			"inline if true: no way; text written: no way; text written: no way",
		`{% if tools %}{% set x = dict.from_keys(tools) %}{% if x %}{% endif %}` +
			`{% endif %}`: "", // dict['from_keys'](tools)
		`{% set all = [] %}{% for m in messages %}{% set _ = all.append(m) %}` +
			`{% endfor %}{% if all %}{% endif %}`: "",
		`{% set all = [] %}{% macro f() %}{% set _ = all.append(1) %}{% endmacro %}` +
			`{{ f() }}{% if all %}{% endif %}`: "",
		`{% if tools %}{{ raise_exception('no') }}{% endif %}` +
			`{{ 'x' if tools else 'y' }}`: "inline if true: never; text written: never",
		`{{ add_generation_prompt is undefined and 'a' }}`:              "text written: empty",
		`{% set x = 'a' %}{{ x or 'b' }}{{ tools or 'c' }}`:             "text written: full",
		`{% set x = 'a' %}{{ x | default('b') }}{{ y | default('c') }}`: "text written: there",
		`{% macro f(a) %}{{ a }}{% endmacro %}{% set x = 'a' %}` +
			`{{ x | default(f('b')) }}`: "",
		`{% macro f() %}a{% endmacro %}{{ x and 'b' }}`:        "text written: uncalled f",
		`{{ ['a', 'b'][messages | length] }}{{ 'c' * tools }}`: "",
		`{% set day = strftime_now('%d') %}{% if day == '31' %}` +
			`{% endif %}`: "if false: the day; if true: the day",
		`{% set day = date or strftime_now('%d') %}{% if day == '31' %}{% endif %}`: "",
		`{% if x is string %}{% elif x is iterable %}` +
			`{% if x is mapping or x is sequence %}{% endif %}{% endif %}`: "",
		`{% for m in messages %}{% if m.role == 'user' or m.role == 'tool' %}` +
			`{% if m.role == 'system' %}{% endif %}{% endif %}{% endfor %}`: "if true: never",
		`{% if not (a or b or c) %}{% elif c %}{% elif b or a %}{% endif %}`: "elif false: always",
		`{% set c = 'x' ~ tools %}{% if c|length > 0 %}{% endif %}`:          "if false: always",
		`{% for t in tools %}{% if t['items'] is mapping %}` +
			`{% for k, v in t['items']|dictsort %}{% if v is defined %}{% endif %}` +
			`{% endfor %}{% endif %}{% endfor %}`: "if false: always",
		`{% set all = [] %}{% for m in messages %}{% set _ = all.append(1) %}` +
			`{% if m is defined %}{% endif %}{% endfor %}`: "if false: always",
		`{% for m in messages %}{% set _ = m.update({'a': x}) %}{% endfor %}` +
			`{% for m in messages %}{% if m is defined %}{% endif %}{% endfor %}`: "",
		`{% macro f() %}{% if x %}{% endif %}{% endmacro %}` +
			`{% set x = 1 %}{{ f() }}`: "if false: always",
		`{% macro f() %}{% if x %}{% endif %}{% endmacro %}{{ f() }}{% set x = 1 %}`: "",
		`{% macro f() %}{% if x %}{% endif %}{% endmacro %}{% for m in messages %}` +
			`{% set x = 1 %}{{ f() }}{% endfor %}`: "",
		`{% if not x %}{% set x %}text{% endset %}{% endif %}{% if x %}` +
			`{% endif %}`: "if false: always",
		`{% set a, b = 'x', 'y' %}{% if b == 'y' %}` +
			`{% endif %}`: "if false: always",
		`{% for m in messages %}{% if m.role not in ['user', 'tool'] %}` +
			`{{ raise_exception('no') }}{% endif %}{% endfor %}{% for m in messages %}` +
			`{% if m.role == 'user' %}{% elif m.role == 'tool' %}` +
			`{% endif %}{% endfor %}`: "elif false: always",
		`{% for m in messages %}{% if m.role not in ['user', 'tool'] %}{% break %}` +
			`{% endif %}{% endfor %}{% for m in messages %}{% if m.role == 'user' %}` +
			`{% elif m.role == 'tool' %}{% endif %}{% endfor %}`: "",
		`{% set ns = namespace(was=none) %}` +
			`{% if messages|length > 0 and messages[0].role != 'user' %}` +
			`{{ raise_exception('no') }}{% endif %}{% for m in messages %}` +
			`{% set role = m.role %}{% if ns.was is not none %}{% if ns.was == 'user' %}` +
			`{% if role != 'tool' %}{{ raise_exception('no') }}{% endif %}` +
			`{% elif ns.was == 'tool' %}{% if role != 'user' %}` +
			`{{ raise_exception('no') }}{% endif %}{% endif %}{% endif %}` +
			`{% set ns.was = role %}{% endfor %}`: "elif false: always",
		`{% for m in messages %}{% if m.content.startswith('a') %}` +
			`{% if m.content is string %}{% endif %}{% endif %}{% endfor %}`: "if false: always",
		`{% set d = {'a': 'x', 'b': 'y'} %}{% for m in messages %}` +
			`{% if d[m.role] == 'z' %}{% endif %}{% endfor %}`: "if true: never",
		`{% set ns = namespace(all=[]) %}{% for m in messages %}` +
			`{% set ns.all = ns.all + ['x'] %}{% endfor %}{% for x in ns.all %}` +
			`{% if x == 'y' %}{% endif %}{% endfor %}`: "if true: never",
		`{% for m in messages %}{{ m.a.b }}{% if m.a is defined %}{% endif %}` +
			`{% endfor %}`: "if false: always",
		`{% if x %}{% set d = {} %}{% for m in messages %}{% if d[m.role].a %}{% endif %}` +
			`{% endfor %}{% endif %}`: "if true: never",
		`{% macro f(all) %}{% set ns = namespace(n='a') %}{% set ns.n = 'b' %}{% endmacro %}` +
			`{% set ns = namespace(n='a') %}{{ f(1) }}{% if ns.n == 'a' %}` +
			`{% endif %}`: "if false: always",
		`{% set ns = namespace(n='a') %}{% macro f() %}{% set ns.n = 'b' %}{% endmacro %}` +
			`{{ f() }}{% if ns.n == 'a' %}{% endif %}`: "",
		`{% set ns = namespace(n='a') %}{% macro f(o) %}{% set o.n = 'b' %}{% endmacro %}` +
			`{{ f(ns) }}{% if ns.n == 'a' %}{% endif %}`: "",
		`{% for m in messages %}{% set c = m.content|default('', true)|string %}` +
			`{% if '<a>' in c or '<b>' in c %}{% set c = c|trim %}{% if c|length > 0 %}` +
			`{% endif %}` +
			`{% endif %}{% endfor %}`: "if false: always",
		`{% macro f(l) %}{% if l|selectattr('a')|list|length > 0 %}{% endif %}{% endmacro %}` +
			`{% set d = {} %}{% set ns = namespace(l=[]) %}{% for m in messages %}` +
			`{% set ns.l = ns.l + [d[m.id]] %}{% endfor %}{{ f(ns.l) }}`: "if true: never",
	} {
		var all []string
		for o, why := range reach.Unreachable(source.New("test", text)) {
			all = append(all, fmt.Sprintf("%s %s: %s", o.Kind, o.Outcome, short.Replace(why)))
		}
		slices.Sort(all)
		if got := strings.Join(all, "; "); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}
