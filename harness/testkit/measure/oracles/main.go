// Command oracles holds templates to the encoders that their formats were published with.
//
//	go run ./harness/testkit/measure/oracles [-rendered N] [-answers N] [-page FILE -date DAY] [NAME...]
//
// judged.txt has the templates with their encoders, and below each the differences that are known:
// the rule and the line of the template, or the words with which the encoder refuses, who is right,
// and why. The conversations are those of `assay check`, drawn from seed after seed until N of them
// were rendered by both. A difference that is not in the list fails; so does, with -page, one in
// the list that is gone. The format of each encoder is learnt from its prompts, proven, and
// compared with that of the template (key FORMAT). By this format N answers that the encoder wrote
// are read, whole and in pieces (key ANSWER with the part of the message that differs). With names
// of templates, only these are compared.
package main

import (
	"cmp"
	"context"
	_ "embed" // the list
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rules/encoders"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/foreign/encoder"
)

func main() {
	rendered := flag.Int("rendered", 1, "go on until `N` conversations were rendered by both")
	answers := flag.Int("answers", 1, "go on until `N` answers of each encoder were read")
	page := flag.String("page", "", "write the table into this `FILE`")
	date := flag.String("date", "", "the `DAY` that the page names, such as 2026-01-31")
	flag.Parse()
	if err := run(context.Background(), *rendered, *answers, *page, *date); err != nil {
		fmt.Fprintln(os.Stderr, "oracles:", err)
		os.Exit(1)
	}
}

//go:embed judged.txt
var list string

func run(ctx context.Context, rendered, answers int, page, date string) error {
	pairs, err := parse(list)
	if err != nil {
		return err
	}
	if names := flag.Args(); len(names) > 0 {
		pairs = slices.DeleteFunc(pairs, func(p *pair) bool {
			return !slices.Contains(names, p.name())
		})
	}
	wrong := 0
	for _, p := range pairs {
		if err := p.compare(ctx, rendered, answers); err != nil {
			return err
		}
		fmt.Printf("%s by %s: %s; %s\n", p.name(), p.encoder, p.counts, p.answers)
		for _, k := range p.known {
			if k.right == "" || k.n == 0 && page != "" {
				fmt.Printf("\t%s\n", k)
				wrong++
			}
		}
	}
	if page != "" {
		err = os.WriteFile(page, []byte(table(pairs, date)), 0o666)
	}
	if wrong > 0 {
		err = errors.Join(fmt.Errorf("%d differences are not as judged.txt has them", wrong), err)
	}
	return err
}

// mostSeeds bounds the seeds from which conversations are drawn.
const mostSeeds = 200

// compare compares the prompts for the conversations of one seed after another.
func (p *pair) compare(ctx context.Context, rendered, answers int) error {
	e, err := encoder.Start(ctx, p.command)
	if err != nil {
		return err
	}
	defer e.Close()
	p.encoder = e.String()
	text, err := os.ReadFile(p.template)
	if err != nil {
		return fmt.Errorf("%w; `make deps hub` fetches those of others", err)
	}
	src := subject.New(p.template, string(text))
	if bos, eos := e.Tokens(); bos != "" {
		src = src.WithTokens(bos, eos)
	}
	for seed := uint64(1); p.counts.Equal+p.counts.Different < rendered &&
		seed <= mostSeeds; seed++ {
		s := probe.New(src, probe.Options{Grammar: conversation.New(seed, string(text))},
			encoders.Rules)
		if s.Err != nil {
			return s.Err
		}
		s.Encoder = e
		c := encoders.Compared.Of(s)
		if c.Err != nil {
			return c.Err
		}
		p.counts.Add(c.Counts)
		p.note(src, c)
	}
	return p.learn(src, e, answers)
}

// learn compares the format that the encoder's prompts show with that of the template, and reads
// answers by it.
func (p *pair) learn(src subject.Source, e *encoder.Encoder, most int) error {
	learnt, err := e.Template(engine.Options{Now: subject.Now})
	if err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	t, err := src.Compile()
	if err != nil {
		return err
	}
	if !learnt.Verify().OK() {
		return fmt.Errorf("%s: the format that it shows is not proven:\n%s", e, learnt.Verify())
	}
	is, was := learnt.Analysis().Format, t.Analysis().Format
	if p.same = is.String() == was.String(); !p.same {
		p.count("FORMAT", 1, func() string { return is.String() })
	}
	p.answer(learnt, most)
	return e.Err()
}

// note counts the differences of a comparison.
func (p *pair) note(src subject.Source, c *encoders.Comparison) {
	for _, d := range c.Differences {
		place := probe.PlaceAt(src, d.At.Off())
		p.count(fmt.Sprintf("A190:%d", place.Line), d.N, func() string { return d.Told("encoder") })
	}
	for _, d := range c.Refused {
		place, words := probe.Place(src, d.Prompt.Err)
		p.count(fmt.Sprintf("A191:%d", place.Line), d.N, func() string { return words })
	}
	for _, d := range c.Unknown {
		p.count("A192 "+d.Text, d.N, func() string { return d.Text })
	}
}

// count counts conversations with a difference; one that is not known is added to the list.
func (p *pair) count(key string, n int, words func() string) {
	i := slices.IndexFunc(p.known, func(k *judged) bool {
		return key == k.key || strings.HasPrefix(key, "A192 ") && strings.HasPrefix(key, k.key)
	})
	if i < 0 {
		i = len(p.known)
		p.known = append(p.known, &judged{key: key, why: words()})
	}
	p.known[i].n += n
}

// escaped is a text in a cell of a table.
func escaped(text string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`).Replace(text)
}

// table is the page.
func table(pairs []*pair, date string) string {
	var page strings.Builder
	fmt.Fprintf(&page, head, date)
	for _, p := range pairs {
		c := p.counts
		tokens := "not told"
		if c.Tokenized > 0 {
			tokens = fmt.Sprintf("%d of %d", c.SameIDs, c.Tokenized)
		}
		format := map[bool]string{true: "the same", false: "another"}[p.same]
		fmt.Fprintf(&page, "| %s | %s | %d | %d | %d | %d | %d | %d | %s | %s |\n", p.name(),
			p.encoder, c.Equal+c.Different, c.Equal, c.Different, c.ByTemplate, c.ByEncoder,
			c.ByBoth, tokens, format)
	}
	page.WriteString(answersHead)
	for i, p := range pairs {
		if i == 0 || pairs[i-1].encoder != p.encoder {
			a := p.answers
			fmt.Fprintf(&page, "| %s | %d | %d | %d | %d | %d |\n", p.encoder, a.Read, a.Thought,
				a.Called, a.Wrong, a.Refused)
		}
	}
	for _, p := range pairs {
		fmt.Fprintf(&page, "\n## %s\n\n%s.", p.name(), p.encoder)
		if len(p.known) == 0 {
			fmt.Fprintf(&page, " There is no difference.\n")
			continue
		}
		slices.SortStableFunc(p.known, func(a, b *judged) int { return cmp.Compare(b.n, a.n) })
		fmt.Fprintf(&page, "\n\n| where | conversations | right | why |\n| --- | --- | --- | --- |\n")
		for _, k := range p.known {
			fmt.Fprintf(&page, "| %s | %d | %s | %s |\n", escaped(k.where()), k.n, k.right,
				escaped(k.why))
		}
	}
	return page.String()
}
