package format_test

import (
	"testing"

	"github.com/goassay/assay/engine/format"
)

func TestIDsCheck(t *testing.T) {
	for _, tt := range []struct {
		ids  format.IDs
		want string
	}{
		{format.IDs{Characters: "a b"}, "expected characters such as 0-9A-Za-z, found ' '"},
		{format.IDs{Characters: "é"}, "expected characters such as 0-9A-Za-z, found 'Ã'"},
		{format.IDs{Characters: "a]"}, "expected characters such as 0-9A-Za-z, found ']'"},
		{format.IDs{Characters: "z-a"}, "the range z-a is backwards"},
		{format.IDs{Min: -1}, "no id has -1 characters at least and 0 at most"},
		{format.IDs{Max: -1}, "no id has 0 characters at least and -1 at most"},
		{format.IDs{Min: 3, Max: 2}, "no id has 3 characters at least and 2 at most"},
	} {
		if err := tt.ids.Check(); err == nil || err.Error() != tt.want {
			t.Errorf("%+v: %v, want %s", tt.ids, err, tt.want)
		}
	}
}

func TestIDs(t *testing.T) {
	for _, tt := range []struct {
		ids      format.IDs
		text     string
		has, not []string
	}{
		{format.IDs{}, "any", []string{"", "a", "é /"}, nil},
		{format.IDs{Min: 9, Max: 9}, "9 characters", []string{"call-0001", "éééééé 12"},
			[]string{"", "call0001", "call000001"}},
		{format.IDs{Characters: "-0-9A-Za-z", Min: 2, Max: 40}, "2 to 40 characters of -0-9A-Za-z",
			[]string{"a-9Z"}, []string{"a", "a_b", "aé"}},
		{format.IDs{Characters: "a-c-"}, "characters of a-c-", []string{"b-a"}, []string{"", "d"}},
		{format.IDs{Characters: "zba"}, "characters of zba", []string{"ab", "z"}, []string{"", "c", "-"}},
		{format.IDs{Min: 9}, "9 or more characters", []string{"call000001"}, []string{"call0001"}},
		{format.IDs{Max: 40}, "1 to 40 characters", []string{"a"}, []string{""}},
	} {
		if got := tt.ids.String(); got != tt.text {
			t.Errorf("%+v is written %q, want %q", tt.ids, got, tt.text)
		}
		if err := tt.ids.Check(); err != nil {
			t.Errorf("%v: %v", tt.ids, err)
		}
		for _, id := range tt.has {
			if !tt.ids.Has(id) {
				t.Errorf("%v lacks %q", tt.ids, id)
			}
		}
		for _, id := range tt.not {
			if tt.ids.Has(id) {
				t.Errorf("%v has %q", tt.ids, id)
			}
		}
	}
}
