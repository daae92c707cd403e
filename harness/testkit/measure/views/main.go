// Command views holds the views of package view to the engines themselves.
//
//	go run ./harness/testkit/measure/views [-engine NAME] [-page FILE -date DAY] TEMPLATE...
//
// The programs ci/engines/NAME/view render requests by the packages' own code
// (docs/internals/views.md); each request of ci/engines/requests.jsonl is put to them and to the
// view with each template. Equal are a prompt with the same bytes, and a failure of both: the
// engine refuses the request, or the template does not compile or render.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	_ "embed" // the page's head
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/check/view"
)

func main() {
	page := flag.String("page", "", "write the table into this `FILE`")
	date := flag.String("date", "", "the `DAY` that the page names, such as 2026-01-31")
	engine := flag.String("engine", "", "ask the programs of one engine alone, by its `NAME`")
	flag.Parse()
	if err := run(context.Background(), flag.Args(), *engine, *page, *date); err != nil {
		fmt.Fprintln(os.Stderr, "views:", err)
		os.Exit(1)
	}
}

// programs are the programs of the views, by the names of [view.Options], with their arguments and
// the release that each runs.
var programs = []struct {
	view, program, release string
	arguments              []string
}{
	{"transformers", "transformers", "5.23.0", nil},
	{"transformers-before-5.23", "transformers", "5.7.0", []string{"5.7.0"}},
	{"vllm", "vllm", "0.33.0", nil},
	{"sglang", "sglang", "0.5.23", nil},
	{"mlx-lm", "mlx-lm", "0.32.2", nil},
	{"llama.cpp", "llama.cpp", "0.5.0", nil},
}

func run(ctx context.Context, paths []string, engine, page, date string) error {
	requests, err := readRequests()
	if err != nil {
		return err
	}
	var templates []template
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		templates = append(templates, template{path: path, text: string(text)})
	}
	var all []*comparison
	for _, p := range programs {
		if engine != "" && engine != p.program {
			continue
		}
		c := &comparison{engine: p.program + " " + p.release}
		c.view, _ = view.Named(p.view)
		if err := c.run(ctx, p.program, p.arguments, templates, requests); err != nil {
			return fmt.Errorf("%s: %w", c.engine, err)
		}
		fmt.Println(c)
		all = append(all, c)
	}
	if page != "" {
		return os.WriteFile(page, []byte(table(all, date)), 0o666)
	}
	return nil
}

type request struct {
	id   string
	body ordered.Value
}

func readRequests() (all []request, err error) {
	text, err := os.ReadFile("ci/engines/requests.jsonl")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		v, err := ordered.ParseString(line)
		if err != nil {
			return nil, err
		}
		all = append(all, request{v.At("id").Text(), v.At("request")})
	}
	return all, nil
}

type template struct{ path, text string }

// marker matches the markers that tokenisers hold; some engines look at the vocabulary.
var marker = regexp.MustCompile(`<[|/｜]?[A-Za-z][\w▁ :-]{0,30}[|｜]?>|\[/?[A-Z_]{3,30}\]`)

// question is what a program is asked in one line.
type question struct {
	ID         string          `json:"id"`
	Template   string          `json:"template"`
	BOS        string          `json:"bos"`
	EOS        string          `json:"eos"`
	Vocabulary []string        `json:"vocabulary"`
	Request    json.RawMessage `json:"request"`
	Now        string          `json:"now"`
}

// answer is what it answers: a prompt, or none.
type answer struct {
	Prompt *string `json:"prompt"`
}

// comparison counts what is equal in a view.
type comparison struct {
	engine    string
	view      view.View
	n, equal  int
	different map[string][]string // templates, by the request
}

// run puts all requests to the engine's program and to the view.
func (c *comparison) run(ctx context.Context, program string, arguments []string,
	templates []template, requests []request) error {
	c.different = map[string][]string{}
	command := exec.CommandContext(ctx, "ci/engines/"+program+"/view", arguments...)
	in, err := command.StdinPipe()
	if err != nil {
		return err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	asked := make(chan error, 1)
	go func() {
		asked <- errors.Join(ask(json.NewEncoder(in), templates, requests), in.Close())
	}()
	answers := bufio.NewReader(out)
	for _, t := range templates {
		ours := c.prompts(ctx, t, requests)
		for i, r := range requests {
			line, err := answers.ReadBytes('\n')
			if err != nil {
				return fmt.Errorf("no answer to %s of %s: %w", r.id, t.path, err)
			}
			var a answer
			if err := json.Unmarshal(line, &a); err != nil {
				return err
			}
			c.count(t, r, ours[i], a)
		}
	}
	return errors.Join(<-asked, command.Wait())
}

func ask(to *json.Encoder, templates []template, requests []request) error {
	for _, t := range templates {
		words := marker.FindAllString(t.text, -1)
		slices.Sort(words)
		for _, r := range requests {
			q := question{t.path + ":" + r.id, t.text, subject.BOS, subject.EOS,
				slices.Compact(words), json.RawMessage(r.body.String()),
				subject.Now().Format("2006-01-02T15:04:05")}
			if err := to.Encode(q); err != nil {
				return err
			}
		}
	}
	return nil
}

// prompt is what the view makes of a request; err says why there is none.
type prompt struct {
	text string
	err  error
}

func (c *comparison) prompts(ctx context.Context, t template, requests []request) []prompt {
	all := make([]prompt, len(requests))
	compiled, err := chattemplate.Compile(ctx, source.New(t.path, t.text), subject.BOS,
		subject.EOS, subject.Now)
	if err != nil {
		for i := range all {
			all[i].err = err
		}
		return all
	}
	server := c.view.Serve(compiled)
	for i, r := range requests {
		_, all[i].text, all[i].err = server.Prompt(r.body)
	}
	return all
}

func (c *comparison) count(t template, r request, ours prompt, a answer) {
	c.n++
	if (a.Prompt == nil) == (ours.err != nil) && (a.Prompt == nil || *a.Prompt == ours.text) {
		c.equal++
		return
	}
	c.different[r.id] = append(c.different[r.id], t.path)
}

// share is the part that is equal, in percent.
func (c *comparison) share() float64 { return 100 * float64(c.equal) / float64(max(c.n, 1)) }

// byCount are the requests with differences, those with the most first.
func (c *comparison) byCount() []string {
	return slices.SortedFunc(maps.Keys(c.different), func(a, b string) int {
		return cmp.Or(len(c.different[b])-len(c.different[a]), cmp.Compare(a, b))
	})
}

func (c *comparison) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d of %d equal (%.2f%%)", c.engine, c.equal, c.n, c.share())
	for _, id := range c.byCount() {
		fmt.Fprintf(&b, "\n\t%s: %d, such as %s", id, len(c.different[id]), c.different[id][0])
	}
	return b.String()
}

//go:embed head.md
var head string

// table is the page: a row for each view.
func table(all []*comparison, date string) string {
	b := bytes.NewBufferString(strings.ReplaceAll(head, "DATE", date))
	for _, c := range all {
		var most []string
		for _, id := range c.byCount() {
			most = append(most, fmt.Sprintf("%s %d", id, len(c.different[id])))
		}
		fmt.Fprintf(b, "| %s | %d | %.2f%% | %s |\n", c.engine, c.n, c.share(),
			strings.Join(most[:min(len(most), 4)], ", "))
	}
	return b.String()
}
