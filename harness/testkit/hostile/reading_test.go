package hostile

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/spell"
	"github.com/goassay/assay/engine/stream"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/script"
	"github.com/goassay/assay/harness/corpus/split"
)

// calling is a template's format that has calls, and how a call and two of them are spelled in it.
type calling struct {
	name     string
	f        format.Format
	calls    *format.Calls
	one, two string
	out      *codegen.Output
}

// callingFormats returns the formats of the corpus's own templates, and the vendors' where
// ASSAY_VENDOR names them.
func callingFormats(t *testing.T) (all []calling) {
	t.Helper()
	loaded, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	suite := script.Suite{Corpus: loaded}
	if dir := os.Getenv("ASSAY_VENDOR"); dir != "" {
		suite.Vendor = os.DirFS(dir)
	}
	for _, v := range suite.Variants() {
		source, err := suite.Source(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		tmpl, err := source.Compile()
		if err != nil {
			t.Fatal(err)
		}
		f := tmpl.Analysis().Format
		if len(f.Calls) == 0 {
			continue
		}
		ids := [2]string{"id4567890", "id9876543"}
		if slices.ContainsFunc(f.Calls[0].Head,
			func(p format.Part) bool { return len(p.Parts) > 0 }) {
			ids = [2]string{"functions.look_up:0", "functions.look_up:1"}
		}
		first := chat.ToolCall{ID: ids[0], Name: "look_up", Arguments: `{"town": "Oslo", "days": 3}`}
		second := chat.ToolCall{ID: ids[1], Name: "look_up", Arguments: `{"town": "Bergen", "days": 4}`}
		c := calling{name: v.Name, f: f, calls: &f.Calls[0]}
		c.one, c.two = spelled(t, f, first), spelled(t, f, first, second)
		if c.out, err = codegen.Generate(f, readingOptions(t)); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

func readingOptions(t *testing.T) codegen.Options {
	t.Helper()
	v, err := ordered.ParseString(`[
		{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object",
			"properties": {"town": {"type": "string"}, "days": {"type": "integer"}}}}},
		{"type": "function", "function": {"name": "ping", "parameters": {"type": "object"}}}]`)
	if err != nil {
		t.Fatal(err)
	}
	o := codegen.Options{Parallel: true, Tolerances: codegen.Usual}
	for _, item := range v.Items() {
		tool, err := chat.ParseTool(item)
		if err != nil {
			t.Fatal(err)
		}
		o.Tools = append(o.Tools, tool)
	}
	return o
}

func spelled(t *testing.T, f format.Format, calls ...chat.ToolCall) string {
	t.Helper()
	s, err := spell.Of(f, chat.Message{ToolCalls: calls})
	if err != nil {
		t.Fatal(err)
	}
	return s.String()
}

// tentative reports whether calls begin with nothing that tells them from text.
func (c calling) tentative() bool {
	return c.calls.Tentative ||
		c.calls.Object != nil && c.calls.Section.Open.Text+c.calls.Call.Open.Text == ""
}

// repeated reports whether a call has its name twice, or beside its opener.
func (c calling) repeated() bool { return strings.Count(c.one, "look_up") > 1 }

// closers returns the closing markers of calls.
func (c calling) closers() (texts []string) {
	content := c.f.Content.Close.Text // which ends a text as well, and so is not lone
	for _, m := range []format.Marker{c.calls.Section.Close, c.calls.Call.Close} {
		texts = append(texts, m.Text)
	}
	for _, p := range slices.Backward(c.calls.Tail) {
		if p.Kind != format.SlotLit {
			break
		}
		texts = append(texts, p.Text.Text)
	}
	return slices.DeleteFunc(texts, func(text string) bool {
		return len(text) < 4 || content != "" && strings.HasSuffix(text, content)
	})
}

// read reads an output whole, byte by byte and in halves, and returns its meaning: the content, and
// for each call its town and days, or a dash where it is not complete.
func (c calling) read(t *testing.T, output string) string {
	t.Helper()
	answer, mismatch := split.CheckSchedules(stream.NewParser(c.out), output, chat.FinishStop,
		slices.Values([][]int{split.Every(len(output)), {len(output) / 2}}))
	if mismatch != nil {
		t.Errorf("%s: %v", c.name, mismatch)
	}
	said := strings.Join(strings.Fields(answer.Message.Content), " ")
	for _, call := range answer.Message.ToolCalls {
		arguments, err := ordered.ParseString(call.Arguments)
		town := arguments.At("town").Text()
		if days := arguments.At("days"); err == nil && days.Kind() == ordered.Number {
			town += " " + days.Text()
		}
		if !call.Complete {
			town = "-"
		}
		said += fmt.Sprintf(" (%s)", town)
	}
	return strings.TrimSpace(said)
}

// disorders are the things that models do to calls, with their reading in every format.
var disorders = []struct {
	why    string
	output func(c calling) []string // the outputs in the format
	want   string                   // "=": the output itself; "...": any content before it
}{
	{"a call", func(c calling) []string { return []string{c.one} }, "(Oslo 3)"},
	{"two calls", func(c calling) []string { return []string{c.two} }, "(Oslo 3) (Bergen 4)"},
	{"text after the end of a call (E20)",
		func(c calling) []string { return []string{c.one + " Done."} },
		"Done. (Oslo 3)"},
	{"each end of a turn after a call, a result's beginning too (E9)", func(c calling) (all []string) {
		call := c.one
		for _, end := range c.f.End {
			call = strings.TrimSuffix(call, strings.TrimSpace(end))
		}
		for _, end := range c.f.End {
			all = append(all, call+end, call+"\n"+end)
		}
		return all
	}, "(Oslo 3)"},
	{"a lone closer in the middle of a text (E31)", func(c calling) (all []string) {
		for _, m := range c.closers() {
			all = append(all, "So "+m+" it is.")
		}
		return all
	}, "="},
	{"a lone closer at the edges (E31)", func(c calling) (all []string) {
		for _, m := range c.closers() {
			all = append(all, "So it is."+m)
			if !strings.HasPrefix(c.one, m) {
				all = append(all, m+"So it is.")
			}
		}
		return all
	}, "So it is."},
	{"a malformed value (E30)", func(c calling) []string { return unquoted(c, c.one+" Done.", ":Oslo") }, "Done. (-)"},
	{"a string without its quotes (T6)", func(c calling) []string {
		if c.calls.Body.Kind == format.BodyKwargs { // where a word is a name
			return nil
		}
		return unquoted(c, c.one+" Done.", "Oslo")
	}, "Done. (Oslo 3)"},
	{"a malformed value of the first of two calls (E30)", func(c calling) []string { return unquoted(c, c.two, ":Oslo") },
		"(-) (Bergen 4)"},
	{"a call of something else before another (E15)", func(c calling) []string {
		if c.repeated() {
			return nil
		}
		return []string{strings.Replace(c.two, "look_up", "nobody", 1)}
	}, "...(Bergen 4)"},
	{"an empty section", func(c calling) []string {
		s := c.calls.Section
		return surrounded(s.Open.Text, s.Close.Text)
	}, "Well. So."},
	{"an empty call", func(c calling) []string {
		s := c.calls.Call
		return surrounded(s.Open.Text, s.Close.Text)
	}, "Well. So."},
	{"an empty call in a section", func(c calling) []string {
		if len(c.calls.Call.Open.Text) < 4 || len(c.calls.Section.Open.Text) < 4 {
			return nil
		}
		s, call := c.calls.Section, c.calls.Call
		return surrounded(s.Open.Text+call.Open.Text, call.Close.Text+s.Close.Text)
	}, "Well. So."},
	{"values without their closers (T4)", withoutCloser, "(Oslo 3)"},
	{"a call that breaks off", func(c calling) []string {
		if c.tentative() {
			return nil
		}
		return []string{c.one[:strings.Index(c.one, "3")]}
	}, "(-)"},
}

// unquoted puts a text in the place of the first town, where the format writes quotes.
func unquoted(c calling, output, text string) []string {
	for _, quoted := range []string{`"Oslo"`, `'Oslo'`} {
		if !c.tentative() && strings.Contains(output, quoted) {
			return []string{strings.Replace(output, quoted, text, 1)}
		}
	}
	return nil
}

func surrounded(open, close string) []string {
	if len(open) < 4 || len(close) < 4 {
		return nil
	}
	return []string{"Well. " + open + close + " So.", "Well. " + open + "\n" + close + " So."}
}

// withoutCloser leaves out the marker that closes the first value, and that of the last one.
func withoutCloser(c calling) []string {
	body := c.calls.Body
	if body.Kind != format.BodyTagged || body.Entry[len(body.Entry)-1].Kind != format.SlotLit {
		return nil
	}
	close := body.Entry[len(body.Entry)-1].Text.Text
	first, last := strings.Index(c.one, close), strings.LastIndex(c.one, close)
	if len(close) < 4 ||
		slices.ContainsFunc(body.Entry[1:], isKey) && isKey(body.Entry[len(body.Entry)-2]) {
		return nil
	}
	return []string{c.one[:first] + c.one[first+len(close):],
		c.one[:last] + c.one[last+len(close):]}
}

func isKey(p format.Part) bool { return p.Kind == format.SlotKey }

// TestDisorders holds every template that has calls to each of them.
func TestDisorders(t *testing.T) {
	all := callingFormats(t)
	for _, d := range disorders {
		t.Run(d.why, func(t *testing.T) {
			held := 0
			for _, c := range all {
				for _, output := range d.output(c) {
					held++
					want := d.want
					if want == "=" {
						want = strings.Join(strings.Fields(output), " ")
					}
					got := c.read(t, output)
					end, some := strings.CutPrefix(want, "...")
					if got != want && !(some && strings.HasSuffix(got, end)) {
						t.Errorf("%s: %q is read as %q, want %q", c.name, output, got, want)
					}
				}
			}
			t.Logf("%d outputs", held)
		})
	}
}
