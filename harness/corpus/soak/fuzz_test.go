package soak_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codec"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/peg/vm"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/engine/stream"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/reduce"
	"github.com/goassay/assay/harness/corpus/script"
	"github.com/goassay/assay/harness/corpus/soak"
	"github.com/goassay/assay/harness/corpus/split"
)

// family is a template of the corpus with its cases.
type family struct {
	name, text string
	cases      []families.Case
}

func loadFamilies(f testing.TB) []family {
	loaded, err := families.Load(corpus.FS)
	if err != nil {
		f.Fatal(err)
	}
	var all []family
	for _, fam := range loaded.Families {
		if !fam.Own {
			continue
		}
		text, err := loaded.Text(fam.Name)
		if err != nil {
			f.Fatal(err)
		}
		one := family{name: fam.Name, text: text}
		for _, file := range fam.Cases {
			cases, err := script.Read(loaded.FS, file)
			if err != nil {
				f.Fatal(err)
			}
			one.cases = append(one.cases, cases...)
		}
		one.cases = slices.DeleteFunc(one.cases, func(c families.Case) bool { return !c.Parsed })
		if len(one.cases) > 0 {
			all = append(all, one)
		}
	}
	return all
}

// tight are the limits of a fuzzed template, so that one that loops costs little.
var tight = engine.Limits{Render: jinja.Limits{Steps: 20_000, OutputBytes: 1 << 16, Depth: 60}}

// compile compiles a template; one that cannot be used has an error with a place or one that names
// the missing part.
func compile(text string) (*engine.Template, error) {
	return engine.Compile(context.Background(), engine.Source{Name: "t", Text: text,
		BOS: subject.BOS, EOS: subject.EOS},
		engine.Options{Now: subject.Now, Limits: tight})
}

// whole takes a template and an output the whole way: compile, analyse, prepare, parse in one go
// and in pieces.
func whole(t *testing.T, text, output string, seed uint64) {
	tmpl, err := compile(text)
	if err != nil {
		var at *source.Error
		if errors.As(err, &at) && (at.Off < 0 || at.Off > len(text)) {
			t.Fatalf("%q: the error is at byte %d of %d: %v", text, at.Off, len(text), err)
		}
		return
	}
	battery := standard.Battery()
	conversation := battery[seed%uint64(len(battery))]
	reason := chat.FinishStop
	if seed%16 >= 12 {
		reason = chat.FinishLength
	}
	read(t, reduce.Case{Template: tmpl, Request: conversation.JSON(), Output: output,
		Reason: reason}, seed)
}

// read prepares a case's request and reads its output in one go and in pieces, and holds the
// account of it (E20).
func read(t *testing.T, c reduce.Case, seed uint64) {
	request, err := chat.ParseRequest(c.Request)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := c.Template.Prepare(request,
		engine.PrepareOptions{Insist: true, Fallbacks: c.Fallbacks})
	if err != nil {
		return // a template may refuse a request
	}
	if !utf8.ValidString(plan.Prefill) {
		// a template can write half a character; whether a delta splits one cannot be told then
		return
	}
	r := rand.New(rand.NewPCG(seed, 1))
	var cuts [][]int
	for range 2 {
		var some []int
		for at := 1 + r.IntN(9); at < len(c.Output); at += 1 + r.IntN(9) {
			some = append(some, at)
		}
		cuts = append(cuts, some)
	}
	parser := plan.NewParser()
	schedules := slices.Values(append(cuts, split.Every(len(c.Output))))
	if _, mismatch := split.CheckSchedules(parser, c.Output, c.Reason, schedules); mismatch != nil {
		t.Fatalf("%v\n%s", mismatch, scriptOf(t, c, mismatch))
	}
	for _, err := range []error{soak.Coverage(parser, plan.Prefill+c.Output), soak.Calls(parser)} {
		if err != nil {
			t.Fatalf("%v\n%s", err, scriptOf(t, c, err))
		}
	}
}

// FuzzTemplate takes any template and any output.
func FuzzTemplate(f *testing.F) {
	for i, fam := range loadFamilies(f) {
		f.Add(fam.text, fam.cases[0].Output, uint64(i))
	}
	f.Fuzz(func(t *testing.T, text, output string, seed uint64) {
		if len(text) <= 16<<10 && len(output) <= 2<<10 {
			whole(t, text, output, seed)
		}
	})
}

// FuzzEdits edits the templates of the corpus so that most of them still compile: runs of their
// pieces, tags and the texts between them, are lost, doubled and moved, and literals replaced.
// Every eighth is verified as well.
func FuzzEdits(f *testing.F) {
	all := loadFamilies(f)
	for i, fam := range all {
		f.Add(uint(i), uint64(i), fam.cases[i%len(fam.cases)].Output)
	}
	f.Fuzz(func(t *testing.T, which uint, seed uint64, output string) {
		if len(output) > 2<<10 {
			return
		}
		text := edit(rand.New(rand.NewPCG(seed, 2)), all[which%uint(len(all))].text)
		whole(t, text, output, seed)
		if seed%8 == 0 {
			if tmpl, err := compile(text); err == nil {
				tmpl.Verify()
			}
		}
	})
}

// edit changes a template's pieces.
func edit(r *rand.Rand, text string) string {
	pieces := cutUp(text)
	for range 1 + r.IntN(3) {
		i, j := r.IntN(len(pieces)), r.IntN(len(pieces))
		switch r.IntN(5) {
		case 0:
			pieces = slices.Delete(pieces, i, i+1)
		case 1:
			pieces = slices.Insert(pieces, j, pieces[i])
		case 2:
			pieces[i], pieces[j] = pieces[j], pieces[i]
		case 3:
			pieces[i] = requote(r, pieces[i])
		case 4:
			pieces[i] = strings.Replace(pieces[i], "-", "", 1)
		}
		if len(pieces) == 0 {
			break
		}
	}
	return strings.Join(pieces, "")
}

// cutUp cuts a template into tags and the texts between them.
func cutUp(text string) []string {
	var pieces []string
	for text != "" {
		end := strings.IndexByte(text[1:], '{') + 1
		if text[0] == '{' && len(text) > 1 && strings.IndexByte("{%#", text[1]) >= 0 {
			if n := strings.Index(text, "}"); n >= 0 {
				end = n + 1
				if end < len(text) && text[end] == '}' {
					end++
				}
			}
		}
		if end <= 0 {
			end = len(text)
		}
		pieces = append(pieces, text[:end])
		text = text[end:]
	}
	return pieces
}

// requote replaces a quoted literal of a tag by another one.
func requote(r *rand.Rand, piece string) string {
	parts := strings.Split(piece, "'")
	if len(parts) < 3 {
		return piece
	}
	literals := []string{"", " ", "\\n", "<think>", "</think>", "<tool_call>", "{", "\"name\": ",
		"<|im_end|>", "a", "\\\\", "<", "[", strings.Repeat("=", 40)}
	parts[1+2*r.IntN((len(parts)-1)/2)] = literals[r.IntN(len(literals))]
	return strings.Join(parts, "'")
}

// FuzzOutput reads any output with the templates and requests of the corpus.
func FuzzOutput(f *testing.F) {
	all := loadFamilies(f)
	for i, fam := range all {
		for j, c := range fam.cases {
			f.Add(uint(i), uint(j), uint64(j), c.Output)
		}
	}
	templates := map[string]*engine.Template{}
	f.Fuzz(func(t *testing.T, which, number uint, seed uint64, output string) {
		if len(output) > 4<<10 {
			return
		}
		fam := all[which%uint(len(all))]
		c := fam.cases[number%uint(len(fam.cases))]
		tmpl := templates[fam.name]
		if tmpl == nil {
			var err error
			if tmpl, err = compile(fam.text); err != nil {
				t.Fatal(err)
			}
			templates[fam.name] = tmpl
		}
		read(t, reduce.Case{Template: tmpl, Request: c.Request, Fallbacks: c.Fallbacks,
			Output: output, Reason: c.Reason}, seed)
	})
}

// FuzzBytes reads any bytes with every template there is, the vendors' too where ASSAY_VENDOR names
// them, under limits, tolerances and a policy for incomplete calls that are drawn: a stream has the
// message, the deltas, the diagnostics and the account of the same output in one go.
func FuzzBytes(f *testing.F) {
	all := loadVariants(f)
	for i, v := range all {
		for j, c := range v.cases {
			f.Add(uint(i), uint(j), uint64(i*j), []byte(c.Output))
		}
	}
	templates := map[string]*engine.Template{}
	f.Fuzz(func(t *testing.T, which, number uint, seed uint64, output []byte) {
		if len(output) > 4<<10 {
			return
		}
		v := all[which%uint(len(all))]
		c := v.cases[number%uint(len(v.cases))]
		if templates[v.name] == nil {
			var err error
			if templates[v.name], err = v.source.Compile(); err != nil {
				t.Fatal(err)
			}
		}
		r := rand.New(rand.NewPCG(seed, 3))
		request, err := chat.ParseRequest(c.Request)
		if err != nil {
			t.Fatal(err)
		}
		o := drawOptions(r)
		o.Fallbacks = c.Fallbacks
		plan, err := templates[v.name].Prepare(request, o)
		if err != nil {
			return // a template may refuse a request
		}
		limits := drawLimits(r)
		drawn := fmt.Sprintf("%s, request %d, %+v, %+v", v.name, number, o, limits)
		text := string(disturb(r, output))
		reason := []chat.FinishReason{chat.FinishStop, chat.FinishLength}[r.IntN(2)]
		parser := stream.Options{Limits: limits}.NewParser(plan.Output)
		account := func(cuts []int) string {
			split.Feed(parser, text, cuts, reason)
			return fmt.Sprint(parser.Diagnostics(), parser.Coverage())
		}
		whole := account(nil)
		for _, err := range []error{soak.Coverage(parser, plan.Prefill+text), soak.Calls(parser)} {
			if err != nil {
				t.Fatalf("%s, output %q: %v", drawn, text, err)
			}
		}
		if !utf8.ValidString(plan.Prefill) {
			return // a template can write half a character: no delta tells whether it splits one
		}
		cuts := [][]int{split.Every(len(text))}
		for range 3 {
			var some []int
			for most, at := 1+r.IntN(40), 0; ; some = append(some, at) {
				if at += 1 + r.IntN(most); at >= len(text) {
					break
				}
			}
			cuts = append(cuts, some)
		}
		schedules := slices.Values(cuts)
		if _, mismatch := split.CheckSchedules(parser, text, reason, schedules); mismatch != nil {
			t.Fatalf("%s: %v", drawn, mismatch)
		}
		for _, some := range cuts {
			if got := account(some); got != whole {
				t.Fatalf("%s, output %q, cut at %v:\n%s, want\n%s", drawn, text, some, got, whole)
			}
		}
	})
}

// loadVariants returns the corpus's own templates, and the vendors' where there are any, with the
// cases of their families.
func loadVariants(f testing.TB) []variant {
	loaded, err := families.Load(corpus.FS)
	if err != nil {
		f.Fatal(err)
	}
	suite := script.Suite{Corpus: loaded}
	if dir := os.Getenv("ASSAY_VENDOR"); dir != "" {
		suite.Vendor = os.DirFS(dir)
	}
	cases := map[string][]families.Case{}
	for _, fam := range loadFamilies(f) {
		cases[fam.name] = fam.cases
	}
	var all []variant
	for _, v := range suite.Variants() {
		source, err := suite.Source(context.Background(), v)
		if err != nil {
			f.Fatal(err)
		}
		if len(cases[v.Family.Name]) > 0 {
			all = append(all, variant{v.Name, source, cases[v.Family.Name]})
		}
	}
	return all
}

// variant is a template with the cases of its family.
type variant struct {
	name   string
	source subject.Source
	cases  []families.Case
}

// drawOptions draws tolerances, the usual ones half of the time, and a policy.
func drawOptions(r *rand.Rand) engine.PrepareOptions {
	o := engine.PrepareOptions{Insist: true, Incomplete: codegen.Incomplete(r.IntN(3))}
	if r.IntN(2) == 0 {
		some := engine.Tolerances(r.Uint32()) & (1<<len(codegen.ToleranceNames()) - 1)
		o.Tolerances = &some
	}
	return o
}

// drawLimits draws limits, the usual ones half of the time.
func drawLimits(r *rand.Rand) (l vm.Limits) {
	if r.IntN(2) == 0 {
		l.Held = []int{0, 1 + r.IntN(64), 1 + r.IntN(4096)}[r.IntN(3)]
		l.Depth = []int{0, 4 + r.IntN(60)}[r.IntN(2)]
		l.Rereads = r.IntN(3)
	}
	return l
}

// scraps are bytes that are no UTF-8, whole and in part, and white space about as long as the caps
// on it.
var scraps = []string{"\xed\xa0\x80", "\xed\xa0\xbd\xed\xb8\x80", "\xed\xa0", "\xf0\x9f\x98",
	"\xc3", "\xff", "\x80", "\xef\xbf\xbd", "\xf4\x90\x80\x80", "\x00"}

var lengths = []int{codec.MaxHeld, stream.MaxSpace}

// disturb puts some of them into an output.
func disturb(r *rand.Rand, output []byte) []byte {
	put := func(s string) {
		output = slices.Insert(slices.Clone(output), r.IntN(len(output)+1), []byte(s)...)
	}
	for range r.IntN(4) {
		put(scraps[r.IntN(len(scraps))])
	}
	if r.IntN(16) == 0 {
		put(strings.Repeat([]string{" ", "\n", "\t\r"}[r.IntN(3)], lengths[r.IntN(2)]+r.IntN(3)-1))
	}
	return output
}

// scriptOf is a case as a script to reproduce its fault.
func scriptOf(t *testing.T, c reduce.Case, err error) string {
	t.Helper()
	text, scriptErr := c.Script(reduce.Failure{Kind: "split", Text: err.Error()})
	if scriptErr != nil {
		t.Log(scriptErr)
	}
	return text
}
