package reduce

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/subject"
)

func value(t *testing.T, text string) ordered.Value {
	v, err := ordered.ParseString(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestWithout(t *testing.T) {
	var got []string
	for v := range without(value(t, `{"a": [1, {"b": 2}], "c": 3}`)) {
		got = append(got, v.String())
	}
	want := []string{`{"c": 3}`, `{"a": [1, {"b": 2}]}`, `{"a": [{"b": 2}], "c": 3}`, `{"a": [1], "c": 3}`, `{"a": [1, {}], "c": 3}`}
	if !slices.Equal(got, want) {
		t.Errorf("got  %s\nwant %s", fmt.Sprint(got), fmt.Sprint(want))
	}
}

func TestReduce(t *testing.T) {
	template, err := subject.New("t", `{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}`).Compile()
	if err != nil {
		t.Fatal(err)
	}
	c := Case{Template: template, Request: value(t, `{"messages": [{"role": "user", "content": "x"}]}`), Output: "fine"}
	if _, _, err := c.Reduce(); !errors.Is(err, ErrHolds) {
		t.Errorf("a case that holds: %v", err)
	}
	c.Request = value(t, `{}`)
	if _, _, err := c.Reduce(); err == nil {
		t.Error("a request without messages can be reduced")
	}
}
