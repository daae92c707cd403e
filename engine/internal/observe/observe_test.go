package observe_test

import (
	"slices"
	"testing"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/internal/observe"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

func observer(t *testing.T, text string) *observe.Observer {
	t.Helper()
	ct, err := chattemplate.Compile(t.Context(), source.New("template.jinja", text), "", "", nil)
	if err != nil {
		t.Fatal(source.Detail(err))
	}
	o, err := observe.New(ct)
	if err != nil {
		t.Fatal(source.Detail(err))
	}
	return o
}

// TestObserve renders a probe twice and looks at the parts of its turn.
func TestObserve(t *testing.T) {
	o := observer(t, `{% for m in messages %}<|{{ m.role }}|>{{ m.content or '' }}{% for c in m.tool_calls or [] %}<call>{{ c.function.name }} {{ c.function.arguments|tojson }}</call>{% endfor %}<|end|>{% endfor %}`)
	p := observe.Probe{Content: new(observe.ContentNeedle), Calls: o.CallsWith(1)}
	r := o.Observe(p)
	if o.Observe(p) != r {
		t.Error("the same probe is rendered twice")
	}
	var kinds []observe.Kind
	for _, at := range r.Tail {
		kinds = append(kinds, at.Kind)
	}
	want := []observe.Kind{observe.Literal, observe.Content, observe.Literal, observe.Name,
		observe.Literal, observe.Structure, observe.Literal}
	if !slices.Equal(kinds, want) {
		t.Errorf("the turn %q has the atoms %v, want %v", observe.Text(r.Tail), kinds, want)
	}
	if got := observe.OwnEnd(r.Text); got != "</call><|end|>" {
		t.Errorf("the template ends the prompt with %q of its own", got)
	}
}

// TestRefusal has a probe that is refused: that is evidence, and no error of the observer.
func TestRefusal(t *testing.T) {
	o := observer(t, `{% for m in messages %}{% if m.role == 'assistant' and not m.content %}{{ raise_exception('say something') }}{% endif %}{{ m.content }}{% endfor %}`)
	if r := o.Observe(observe.Probe{Content: new("")}); r.Err == nil || r.Shows(observe.Content) ||
		r.Trace == nil {
		t.Errorf("an empty answer gives %v", r.Err)
	}
	if !o.Facts.StringContent || o.Facts.ToolCalls {
		t.Errorf("facts %+v", o.Facts)
	}
}

// TestAlike has probes that differ in nothing that the template looks up: they are rendered once.
func TestAlike(t *testing.T) {
	o := observer(t, `{% for m in messages %}<{{ m.role }}>{{ m.content }}{% if thorough %}!{% endif %}{% endfor %}`)
	asked := observe.Probe{Plain: true, Generate: true}
	bare := o.Observe(asked)
	set := func(name string) *observe.Rendering {
		return o.Observe(asked.With(func(p *observe.Probe) {
			p.Kwargs = append(p.Kwargs, ordered.MemberOf(name, ordered.Boolean(true)))
		}))
	}
	if r := set("idle"); r.Trace != bare.Trace || len(r.Probe.Kwargs) != 1 {
		t.Errorf("a variable that is not looked up takes a render of its own")
	}
	if r := set("thorough"); r.Trace == bare.Trace || r.String == bare.String {
		t.Errorf("a variable that is looked up changes nothing: %q", r.String)
	}
	if r := o.Observe(observe.Probe{Plain: true}); r.Trace != bare.Trace || r.Probe.Generate {
		t.Errorf("the template heeds no add_generation_prompt, and is asked again without")
	}
}
