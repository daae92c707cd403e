package tokens_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/script"
	"github.com/goassay/assay/harness/corpus/tokens"
)

// TestSegments renders the standard battery: the segments are the prompt, those that adjoin differ,
// each from the request has a field of it and the role of its message, and they are the same
// whether the first render notes them or a second one does.
func TestSegments(t *testing.T) {
	variants(t, func(t *testing.T, _ script.Variant, src subject.Source, _ []families.Case) {
		late := compiled(t, src.Source, nil)
		early, err := engine.Compile(t.Context(), src.Source, engine.Options{Now: subject.Now,
			Segments: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range standard.Battery() {
			prompt, err := late.Render(c.Request)
			if err != nil {
				continue // the template refuses it
			}
			segments, err := prompt.Segments()
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			all := slices.Collect(segments.All())
			for i, s := range all {
				if s.Off != text.Len() {
					t.Errorf("%s: segment %d begins at %d, the one "+
						"before ends at %d", c.Name, i, s.Off, text.Len())
				}
				text.WriteString(s.Text)
				if i > 0 && all[i-1].Own == s.Own && all[i-1].Path() == s.Path() {
					t.Errorf("%s: segments %d and %d are one: %+v", c.Name, i-1, i, s)
				}
				if s.Own != (s.Path() == "") && s.Path() != "" ||
					s.Own && (s.Turn() != -1 || s.Role() != "") {
					t.Errorf("%s: %+v", c.Name, s)
				}
				if s.Turn() >= 0 && c.Request.Messages[s.Turn()].At("role").Text() != s.Role() {
					t.Errorf("%s: %+v is of a "+
						"message of the role %s", c.Name, s, c.Request.Messages[s.Turn()].At("role"))
				}
			}
			if text.String() != prompt.Text {
				t.Errorf("%s: the segments are "+
					"%q\nthe prompt is %q", c.Name, text.String(), prompt.Text)
			}
			again, err := early.Render(c.Request)
			if err != nil {
				t.Fatal(err)
			}
			segments, err = again.Segments()
			if err != nil {
				t.Fatal(err)
			}
			noted := slices.Collect(segments.All())
			if len(noted) != len(all) {
				t.Fatalf("%s: %d segments noted, %d rendered", c.Name, len(noted), len(all))
			}
			for i, s := range noted {
				if w := all[i]; s.Text != w.Text || s.Own != w.Own || s.Off != w.Off ||
					s.Turn() != w.Turn() || s.Path() != w.Path() || s.Role() != w.Role() {
					t.Errorf("%s: segment %d is %+v, noted it was %+v", c.Name, i, w, s)
				}
			}
		}
	})
}

// TestContinued renders messages that are continued: their text is the request's, the markers
// around it are the template's.
func TestContinued(t *testing.T) {
	tmpl := compiled(t, engine.Source{Name: "t", Text: "{% for m in messages %}[{{ m.role }}]{% if m.reasoning_content %}<think>" + "{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}</s>{% endfor %}" + "{% if add_generation_prompt %}[assistant]{% endif %}"}, nil)
	value, err := ordered.ParseString(`{"messages": [{"role": "user", "content": "Hi"},
		{"role": "assistant", "reasoning_content": "so", "content": "He"}],
		"continue_final_message": true}`)
	if err != nil {
		t.Fatal(err)
	}
	r, err := chat.ParseRequest(value)
	if err != nil {
		t.Fatal(err)
	}
	prompt, err := tmpl.Render(r)
	if err != nil {
		t.Fatal(err)
	}
	segments, err := prompt.Segments()
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for s := range segments.All() {
		got.WriteString("{" + s.Path() + "|" + s.Text + "}")
	}
	const want = "{|[}{messages[0].role|user}{|]}{messages[0].content|Hi}" +
		"{|</s>[assistant]<think>}{messages[1].reasoning_content|so}{|</think>}{messages[1].content|He}"
	if got.String() != want {
		t.Errorf("got  %s\nwant %s", got.String(), want)
	}
}

// TestContinuedAsWritten continues an answer without reasoning: the prompt is the beginning of what
// the template writes for that answer, with the empty block of reasoning where it writes one.
func TestContinuedAsWritten(t *testing.T) {
	of := func(t *testing.T, more string) chat.Request {
		value, err := ordered.ParseString(`{"messages": [{"role": "user", "content": "Hi"},
			{"role": "assistant", "content": "Hello there"}]` + more + `}`)
		if err != nil {
			t.Fatal(err)
		}
		r, err := chat.ParseRequest(value)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	variants(t, func(t *testing.T, _ script.Variant, src subject.Source, _ []families.Case) {
		tmpl := compiled(t, src.Source, nil)
		continued, err := tmpl.Render(of(t, `, "continue_final_message": true`))
		if err != nil {
			return // the template refuses the conversation
		}
		r := of(t, "")
		r.NoGeneration = true
		written, err := tmpl.Render(r)
		if err != nil {
			t.Fatal(err)
		}
		const said = "Hello there"
		rest, ok := strings.CutPrefix(written.Text, strings.TrimSuffix(continued.Text, said))
		if !ok {
			return // prompts do not begin as answers do
		}
		lead, _, _ := strings.Cut(rest, said)
		if r := tmpl.Analysis().Format.Reasoning; r.Open.Text != "" &&
			strings.Contains(lead, r.Open.Text) && !strings.Contains(lead, r.Close.Text) {
			return // the template leaves reasoning open before content
		}
		if !strings.HasPrefix(written.Text, continued.Text) {
			t.Errorf("continued %q\nwritten   %q", continued.Text, written.Text)
		}
	})
}

// TestPieces puts every marker of a template into the texts of people and tools: as many special
// tokens come of the prompt as without them.
func TestPieces(t *testing.T) {
	variants(t, func(t *testing.T, _ script.Variant, src subject.Source, _ []families.Case) {
		tmpl := compiled(t, src.Source, nil)
		v := tokens.Made(tmpl.Analysis().Format)
		var all strings.Builder
		for _, token := range v.Tokens() {
			all.WriteString(token.Text + "x" + token.Text)
		}
		count := func(text string) int {
			r, err := chat.ParseRequest(ordered.ObjectOf(ordered.MemberOf("messages",
				ordered.ArrayOf(chat.MessageOf("user", ordered.Str(text)),
					chat.MessageOf("assistant", ordered.Str("so")),
					chat.MessageOf("user", ordered.Str(text+"?"))))))
			if err != nil {
				t.Fatal(err)
			}
			prompt, err := tmpl.Render(r)
			if err != nil {
				return -1
			}
			pieces, err := prompt.Pieces(v)
			if err != nil {
				t.Fatal(err)
			}
			var whole strings.Builder
			n := 0
			for _, p := range pieces {
				whole.WriteString(p.Text)
				if p.Special {
					n += len(v.Scan(p.Text))
				}
			}
			if whole.String() != prompt.Text {
				t.Errorf("the pieces are %q\nthe prompt is %q", whole.String(), prompt.Text)
			}
			if text == "word" && len(pieces) != 1 {
				t.Errorf("honest text is cut: %+v", pieces)
			}
			return n
		}
		if honest, forged := count("word"), count("word"+all.String()); honest != forged &&
			forged >= 0 {
			t.Errorf("%d special tokens with markers in the text, %d without", forged, honest)
		}
	})
}
