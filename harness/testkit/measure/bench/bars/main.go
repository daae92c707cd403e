// Command bars measures the works that have a bar, and prints how far each is from it.
//
//	go run ./harness/testkit/measure/bench/bars -vendor .deps/llama.cpp/models/templates
//
// A ratio of 1 or more keeps the bar. It exits with 0 whatever it measures: how fast a machine is
// is no property of the code.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/harness/foreign/vector"
	"github.com/goassay/assay/harness/testkit/measure/bench"
)

func main() {
	var o options
	flag.StringVar(&o.vendor, "vendor", "", "`DIR` with the vendors' templates; without it the "+
		"corpus's own are measured")
	flag.StringVar(&o.vectors, "vectors", "", "`FILE` of vectors of the kind render, for the bar "+
		"on rendering, in place of the battery")
	flag.IntVar(&o.rounds, "rounds", 11, "go round `N` times")
	flag.StringVar(&o.only, "only", "", "measure the works whose name matches the regular "+
		"expression `RE`")
	flag.StringVar(&o.page, "page", "", "write the table into `FILE` too")
	flag.StringVar(&o.serve, "serve", "", "measure the work `NAME` alone, a round for every line "+
		"of the standard input")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "bars:", err)
		os.Exit(2)
	}
}

type options struct {
	vendor, vectors, only, page, serve string
	rounds                             int
}

func (o *options) run() error {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	in, err := bench.Load(o.vendor)
	if err != nil {
		return err
	}
	all, err := in.Works()
	if err != nil {
		return err
	}
	if o.vectors != "" {
		w, err := o.renderVectors()
		if err != nil {
			return err
		}
		all = append(all, w)
	}
	var works []bench.Work
	for _, w := range all {
		if w.Name == o.serve {
			return w.Serve(os.Stdin, os.Stdout)
		}
		if only.MatchString(w.Name) {
			works = append(works, w)
		}
	}
	var processes []*bench.Process
	for _, w := range works {
		p, err := bench.Start(w.Name,
			exec.Command(os.Args[0], "-vendor", o.vendor, "-vectors", o.vectors, "-serve", w.Name))
		if err != nil {
			return err
		}
		processes = append(processes, p)
	}
	samples, err := bench.Rounds("", processes, o.rounds)
	if err != nil {
		return err
	}
	table := new(bench.Table)
	table.Add("work", "bar", "median", "least to most", "bar / median")
	took := map[string]bench.Sample{}
	for i, w := range works {
		s := samples[i]
		took[w.Name] = s
		switch {
		case w.Bar == 0:
		case w.Bytes > 0:
			table.Add(w.What, bench.Rate(w.Bytes, w.Bar), bench.Rate(w.Bytes, s.Median),
				bench.Rate(w.Bytes, s.Max)+" to "+bench.Rate(w.Bytes, s.Min),
				ratio(w.Bar, s.Median))
		default:
			table.Add(w.What, bench.Took(w.Bar), bench.Took(s.Median),
				bench.Took(s.Min)+" to "+bench.Took(s.Max), ratio(w.Bar, s.Median))
		}
	}
	for _, out := range bench.Outputs[:2] {
		one, four := took[fmt.Sprintf("stream/%s/tokens=%d", out.Name, bench.Tokens)],
			took[fmt.Sprintf("stream/%s/tokens=%d", out.Name, 4*bench.Tokens)]
		if one.Median > 0 && four.Median > 0 {
			growth := float64(four.Median) / float64(one.Median)
			table.Add("stream four times the tokens, "+
				"times the time: "+out.What, bench.Times(4.5), bench.Times(growth), "",
				bench.Times(4.5/growth))
		}
	}
	if only.MatchString("run") {
		bar := 20 * time.Second // 10 on two cores
		took, err := o.assayRun()
		if err != nil {
			return err
		}
		table.Add("assay run over corpus and templates, "+
			"all cores together", bench.Took(bar), bench.Took(took), "once", ratio(bar, took))
	}
	text := fmt.Sprintf("%s; %d rounds, processor time "+
		"on one core.\n\n%s", bench.Machine(), o.rounds, table)
	return bench.Publish(o.page, "bars", text)
}

func ratio(bar, took time.Duration) string {
	r := float64(bar) / float64(took)
	if r < 1 {
		return bench.Times(r) + " missed"
	}
	return bench.Times(r)
}

// assayRun builds the command and runs it over everything, once, and returns the time that all its
// threads took.
func (o *options) assayRun() (time.Duration, error) {
	dir, err := os.MkdirTemp("", "bars")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "assay")
	if out, err := exec.Command("go", "build", "-o", binary, "github.com/goassay/assay/cmd/assay").
		CombinedOutput(); err != nil {
		return 0, fmt.Errorf("go build: %w\n%s", err, out)
	}
	args := []string{"run"}
	if o.vendor != "" {
		args = append(args, "--vendor", o.vendor)
	}
	cmd := exec.Command(binary, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("assay %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

// renderVectors is the work of rendering a file of vectors.
func (o *options) renderVectors() (w bench.Work, err error) {
	file, err := os.Open(o.vectors)
	if err != nil {
		return w, err
	}
	defer file.Close()
	vectors := vector.NewReader(o.vectors, file)
	in := new(bench.Inputs)
	var renders []bench.Render
	byName := map[string]int{}
	for {
		v, err := vectors.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return w, err
		}
		name := v.Value.At("template").Text()
		at, ok := byName[name]
		if !ok {
			text, err := os.ReadFile(filepath.Join(o.vendor, name))
			if err != nil {
				return w, err
			}
			at = len(in.Templates)
			byName[name] = at
			in.Templates = append(in.Templates, engine.Source{Name: name, Text: string(text)})
		}
		renders = append(renders,
			bench.Render{Template: at, Vars: v.Value.At("vars"), Want: v.Value.At("want").Text(),
				Fails: v.Value.At("error").Text() != ""})
	}
	return in.RenderWork("render/vectors", renders), nil
}
