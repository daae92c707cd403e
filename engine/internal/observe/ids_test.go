package observe_test

import (
	"testing"

	"github.com/goassay/assay/engine/format"
)

// TestIDs has templates that look at the ids of calls.
func TestIDs(t *testing.T) {
	nine := format.IDs{Characters: "0-9A-Za-z", Min: 9, Max: 9}
	length := format.IDs{Min: 9, Max: 9}
	for _, tt := range []struct {
		name, call, result string
		kept, taken        format.IDs
	}{
		{"any", `{{ id }}`, `{{ id }}`, format.IDs{}, format.IDs{}},
		{"none is looked at", ``, ``, format.IDs{}, format.IDs{}},
		{"a length", `{{ no() if id|length != 9 }}{{ id }}`, ``, length, length},
		{"a length and letters and digits",
			`{{ no() if id|length != 9 or not id.isalnum() }}{{ id }}`, ``, nine, nine},
		{"looked at and not written", `{{ no() if id|length != 9 }}`, ``, length, length},
		{"looked at in the result alone", `{{ id }}`, `{{ no() if id|length != 9 }}{{ id }}`,
			length, length},
		{"no longer than 40", `{{ no() if id|length > 40 }}{{ id }}`, ``,
			format.IDs{Max: 40}, format.IDs{Max: 40}},
		{"three at least", `{{ no() if id|length < 3 }}{{ id }}`, ``,
			format.IDs{Min: 3}, format.IDs{Min: 3}},
		{"the last nine characters", `{{ no() if id|length < 9 }}{{ id[-9:] }}`, `{{ id[-9:] }}`,
			length, format.IDs{Min: 9}},
		{"small letters", `{{ id|lower }}`, `{{ id|lower }}`,
			format.IDs{Characters: "-.0-9:_a-z"}, format.IDs{}},
		{"no hyphens", `{{ id|replace('-', '') }}`, `{{ id }}`,
			format.IDs{Characters: ".0-9:A-Z_a-z"}, format.IDs{}},
		{"a form that no set describes", `{{ no() if id[-3:] not in ['001', '002'] }}{{ id }}`, ``,
			length, length},
	} {
		o := observer(t, `{% macro no() %}{{ raise_exception('no such id') }}{% endmacro %}`+
			`{% macro call(id) %}`+tt.call+`{% endmacro %}{% macro result(id) %}`+tt.result+
			`{% endmacro %}{% for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}`+
			`{{ result(m.tool_call_id) if m.role == 'tool' }}{% for c in m.tool_calls or [] %}`+
			`<call>{{ c.function.name }}[ID]{{ call(c.id) }}[ARGS]{{ c.function.arguments|tojson }}`+
			`</call>{% endfor %}<|end|>{% endfor %}`)
		if got := o.Facts.IDs.Kept; got != tt.kept {
			t.Errorf("%s: the ids that are written are %v, want %v", tt.name, got, tt.kept)
		}
		if got := o.Facts.IDs.Taken; got != tt.taken {
			t.Errorf("%s: the ids that are taken are %v, want %v", tt.name, got, tt.taken)
		}
	}
}
