package tokens_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation/standard"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/script"
	"github.com/goassay/assay/harness/corpus/split"
	"github.com/goassay/assay/harness/corpus/tokens"
)

// variants calls a test for each template of the corpus, the vendors' too where ASSAY_VENDOR names
// their folder.
func variants(
	t *testing.T,
	f func(t *testing.T, v script.Variant, src subject.Source, cases []families.Case),
) {
	loaded, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	suite := script.Suite{Corpus: loaded}
	if dir := os.Getenv("ASSAY_VENDOR"); dir != "" {
		suite.Vendor = os.DirFS(dir)
	}
	for _, v := range suite.Variants() {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			src, err := suite.Source(context.Background(), v)
			if err != nil {
				t.Fatal(err)
			}
			must, _ := suite.Known(v)
			var cases []families.Case
			for _, file := range must.Family.Cases {
				read, err := script.Read(loaded.FS, file)
				if err != nil {
					t.Fatal(err)
				}
				cases = append(cases, read...)
			}
			f(t, v, src, cases)
		})
	}
}

// compiled compiles a template with a vocabulary.
func compiled(t *testing.T, src engine.Source, v *engine.Vocabulary) *engine.Template {
	t.Helper()
	c, err := engine.Compile(t.Context(), src, engine.Options{Now: subject.Now, Vocabulary: v})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestCorpus reads every case's output by tokens, in every grouping: the message is that of the
// bytes, which the case's script demands.
func TestCorpus(t *testing.T) {
	variants(t, func(t *testing.T, v script.Variant, src subject.Source, cases []families.Case) {
		vocabulary := tokens.Made(compiled(t, src.Source, nil).Analysis().Format)
		byTokens := compiled(t, src.Source, vocabulary)
		for _, c := range cases {
			if !c.Parsed {
				continue
			}
			tmpl, v := byTokens, vocabulary
			if c.Template != "" {
				own := subject.New(c.Family, c.Template).Source
				v = tokens.Made(compiled(t, own, nil).Analysis().Format)
				tmpl = compiled(t, own, v)
			}
			r, err := chat.ParseRequest(c.Request)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := tmpl.Prepare(r,
				engine.PrepareOptions{Insist: true, Fallbacks: c.Fallbacks})
			if err != nil {
				t.Fatal(err)
			}
			want := plan.Parse(c.Output, c.Reason)
			for seed := range uint64(2) {
				list := tokens.Cut(v, c.Output, seed)
				if text := tokens.Text(list); text != c.Output {
					t.Fatalf("%s: cut into %q", c.Name, text)
				}
				got, mismatch := tokens.Check(plan.NewParser(), list, c.Reason)
				if mismatch != nil {
					t.Errorf("%s: %v", c.Name, mismatch)
				}
				if diff := split.Diff(want.Message, got.Message); diff != "" ||
					got.Finish != want.Finish {
					t.Errorf("%s: %s, %s and %s\noutput %q", c.Name, diff, got.Finish, want.Finish,
						c.Output)
				}
			}
		}
	})
}

// TestMarks puts each marker, as a token, into every case's output at seeded places. The bytes with
// which the machine tells tokens from text never reach a message.
func TestMarks(t *testing.T) {
	variants(t, func(t *testing.T, v script.Variant, src subject.Source, cases []families.Case) {
		vocabulary := tokens.Made(compiled(t, src.Source, nil).Analysis().Format)
		tmpl := compiled(t, src.Source, vocabulary)
		random := rand.New(rand.NewPCG(1, 1))
		for _, c := range cases {
			if !c.Parsed || c.Template != "" {
				continue
			}
			r, err := chat.ParseRequest(c.Request)
			if err != nil {
				t.Fatal(err)
			}
			o := engine.PrepareOptions{Insist: true, Fallbacks: c.Fallbacks}
			plan, err := tmpl.Prepare(r, o)
			if err != nil {
				t.Fatal(err)
			}
			if strings.ContainsRune(c.Output, utf8.RuneError) || !utf8.ValidString(c.Output) {
				continue
			}
			for _, token := range vocabulary.Tokens() {
				for range 3 {
					at := random.IntN(len(c.Output) + 1)
					for at < len(c.Output) && !utf8.RuneStart(c.Output[at]) {
						at++
					}
					output := c.Output[:at] + token.Text + c.Output[at:]
					p := plan.NewParser()
					p.WriteTokens(tokens.Cut(vocabulary, output, 1))
					p.Close(c.Reason)
					m := p.Message()
					text := fmt.Sprint(m.Value())
					if strings.ContainsRune(text, utf8.RuneError) || !utf8.ValidString(text) {
						t.Errorf("%s: %q with %s gives %s", c.Name, output, token.Text, text)
					}
				}
			}
		}
	})
}

// TestText reads markers that are spelled in ordinary tokens: all of the output is content, or
// reasoning where the prompt has opened it.
func TestText(t *testing.T) {
	variants(t, func(t *testing.T, v script.Variant, src subject.Source, cases []families.Case) {
		vocabulary := tokens.Made(compiled(t, src.Source, nil).Analysis().Format)
		if len(vocabulary.Tokens()) == 0 {
			return
		}
		tmpl := compiled(t, src.Source, vocabulary)
		plan, err := tmpl.Prepare(standard.ToolRequest(), engine.PrepareOptions{Insist: true})
		if err != nil { // the template refuses tools like these
			if plan, err = tmpl.Prepare(standard.Battery()[0].Request,
				engine.PrepareOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for _, token := range vocabulary.Tokens() {
			output := "a " + token.Text + " b"
			p := plan.NewParser()
			for _, piece := range tokens.Ordinary(output, 1) {
				p.WriteTokens([]engine.Token{piece})
			}
			p.Close(chat.FinishStop)
			if m := p.Message(); !strings.HasSuffix(m.Content, output) &&
				!strings.HasSuffix(m.Reasoning, output) ||
				len(m.ToolCalls) > 0 {
				t.Errorf("%s in ordinary tokens: %s", token.Text, m.Value())
			}
		}
	})
}
