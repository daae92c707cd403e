package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/foreign/engines"
	"github.com/goassay/assay/harness/report/safefile"
)

var enginesCommand = command{
	group: proving, name: "engines",
	short: "hold other engines to the corpus, and pick their parsers for a template",
	long: `An adapter is a program that lets another engine answer, one JSON object a line
(docs/reference/adapters.md). Those of the repository lie under ci/engines and are set up by "make engines".`,
	within: []*command{&enginesRunCommand, &enginesPickCommand, &enginesJudgeCommand,
		&enginesFaultsCommand},
}

var enginesRunCommand = command{
	name: "run", args: "ADAPTER...", takes: arity{1, -1, "an adapter: a program, or one with its " +
		"arguments in quotes"},
	short: "run every case of the corpus through engines",
	long: `For each family the parsers are taken that read the turns of the family's template. Each
case goes in whole, in chunks like tokens, and rune by rune. The results are JSON lines on standard
output, or in --results, where those of other runs stay.`,
	setup: func(flags *flagSet) func(*call) error {
		r := new(enginesRun)
		flags.StringVar(&r.corpus, "corpus", "", "`DIR` with another corpus")
		flags.StringVar(&r.only, "run", "", "only families whose name contains `TEXT`")
		flags.BoolVar(&r.emitted, "emitted", false, "run engines that parse with an object of "+
			"the request with the one that assay emits, and nothing else")
		flags.StringArrayVar(&r.known, "known", nil, "`FILE` with the cases that are known to be "+
			"faults, with reasons: any other fault fails, and so does one that is gone")
		flags.StringVar(&r.results, "results", "", "`FILE` of JSON lines to merge the results into")
		flags.StringVar(&r.page, "page", "", "write the tables into the Markdown `FILE`")
		flags.StringVar(&r.html, "html", "", "write one page that stands alone into `FILE`")
		flags.StringVar(&r.published, "published", "", "`FILE` in which the engine's readings of "+
			"the families' templates are replaced, with --date")
		flags.StringVar(&r.date, "date", "", "the `DATE` of the run, as 2026-01-31")
		return r.run
	},
}

type enginesRun struct {
	corpus, only, results, page, html string
	published, date                   string
	emitted                           bool
	known                             []string
}

func (r *enginesRun) run(c *call) error {
	loaded, matrix, err := r.load()
	if err != nil {
		return err
	}
	known, err := readReasons(r.known)
	if err != nil {
		return err
	}
	var published *engines.Published
	if r.published != "" {
		if published, err = r.readPublished(); err != nil {
			return err
		}
	}
	var ran []engines.Result
	out := json.NewEncoder(c.data())
	out.SetEscapeHTML(false)
	sweep := engines.Sweep{Corpus: loaded, Only: r.only, Emitted: r.emitted, Published: published,
		Date: r.date}
	sweep.Done = func(family string, choice engines.Choice, results []engines.Result) error {
		ran = append(ran, results...)
		matrix.Replace(results...)
		if r.results == "" && len(r.known) == 0 {
			for _, res := range results {
				if err := out.Encode(res); err != nil {
					return err
				}
			}
		}
		for _, line := range engines.Summary(family, choice, results) {
			fmt.Fprintf(c.stderr, "  %s\n", line)
		}
		return nil
	}
	for _, adapter := range c.args {
		a, err := engines.Start(c.ctx, strings.Fields(adapter), nil)
		if err != nil {
			return err
		}
		defer a.Close()
		fmt.Fprintf(c.stderr, "%s %s\n", a.Engine, a.Version)
		if err := sweep.Run(c.ctx, a); err != nil {
			return err
		}
	}
	if err := r.write(matrix, published); err != nil {
		return err
	}
	if len(r.known) == 0 {
		return nil
	}
	return r.expect(c, ran, known)
}

// load reads the corpus, and the results of earlier runs.
func (r *enginesRun) load() (*families.Corpus, *engines.Matrix, error) {
	var folder []string
	if r.corpus != "" {
		folder = append(folder, r.corpus)
	}
	loaded, err := loadCorpus(folder)
	if err != nil {
		return nil, nil, err
	}
	matrix, err := engines.ReadMatrix(r.results)
	if errors.Is(err, fs.ErrNotExist) { // the first run
		matrix, err = engines.ReadMatrix("")
	}
	return loaded, matrix, err
}

// write writes the files that were asked for.
func (r *enginesRun) write(matrix *engines.Matrix, published *engines.Published) error {
	if r.results != "" {
		if err := matrix.Write(r.results); err != nil {
			return err
		}
	}
	for _, f := range []struct {
		name string
		text func() (string, error)
	}{{r.published, published.Text},
		{r.page, func() (string, error) { return matrix.Markdown(), nil }},
		{r.html, func() (string, error) { return matrix.HTML(), nil }}} {
		if f.name == "" {
			continue
		}
		text, err := f.text()
		if err != nil {
			return err
		}
		if err := safefile.Write(f.name, safefile.Text(text)); err != nil {
			return err
		}
	}
	return nil
}

// expect holds the faults against those that are known.
func (r *enginesRun) expect(c *call, ran []engines.Result, known map[string]string) error {
	unexpected := engines.Unexpected(ran, known)
	for _, text := range unexpected {
		fmt.Fprintln(c.stderr, text)
	}
	fmt.Fprintf(c.stderr, "%d results, %d known faults, %d "+
		"not as expected\n", len(ran), len(known), len(unexpected))
	if len(unexpected) > 0 {
		return errFailed
	}
	return nil
}

// readPublished reads the file of --published; one that is not there is empty.
func (r *enginesRun) readPublished() (*engines.Published, error) {
	if _, err := time.Parse(time.DateOnly, r.date); err != nil {
		return nil, usageError{fmt.Errorf("--published needs the date of the run, as "+
			"--date 2026-01-31: %w", err)}
	}
	if r.only != "" || r.emitted {
		return nil, usageError{errors.New("--published takes the readings of all families: leave " +
			"out --run and --emitted")}
	}
	text, err := readFile(r.published)
	if errors.Is(err, fs.ErrNotExist) { // the first run
		return new(engines.Published), nil
	}
	if err != nil {
		return nil, err
	}
	return engines.ReadPublished(text)
}

var enginesPickCommand = command{
	name: "pick", args: "TEMPLATE...", takes: arity{1, -1, "a template"}, files: templateFiles,
	short: "find the parsers of an engine that read a template's turns",
	long: `Every parser of the engine is tried on the template's own turns. The exit status is 1
where a parser that --tool or --reasoning names does not read them, and where the engine's own
detection picks one that does not. Of several templates each takes a line, and the last line counts
those whose calls the engine's own choice reads.

Where the engine is not installed, the readings answer that were published last: those of the
family whose template has the same format.`,
	setup: func(flags *flagSet) func(*call) error {
		p := new(enginesPick)
		flags.StringVar(&p.engine, "engine", "", "the `ENGINE`: a folder under ci/engines that "+
			"\"make engines\" set up")
		flags.StringVar(&p.adapter, "adapter", "", "the adapter's `COMMAND`, for an engine that "+
			"is not under ci/engines")
		flags.StringVar(&p.tool, "tool", "", "the `PARSER` of calls that is to be used")
		flags.StringVar(&p.reasoning, "reasoning", "", "the `PARSER` of reasoning "+
			"that is to be used")
		flags.StringArrayVar(&p.known, "known", nil, "`FILE` with the templates whose plainest "+
			"call the engine's own choice is known not to read, with reasons: any other one "+
			"fails, and so does one that is read")
		flags.BoolVar(&p.json, "json", false, "print a JSON object for each template")
		limitFlag(flags, lookedAt)
		return p.run
	},
}

type enginesPick struct {
	engine, adapter, tool, reasoning string
	known                            []string
	json                             bool
}

func (p *enginesPick) run(c *call) error {
	if p.engine == "" && p.adapter == "" {
		return usageError{fmt.Errorf("name an engine with --engine or an adapter with --adapter")}
	}
	pick, end, err := p.picker(c)
	if err != nil {
		return err
	}
	defer end()
	known, err := readReasons(p.known)
	if err != nil {
		return err
	}
	var counts engines.PickCounts
	failed := false
	for _, name := range c.args {
		src, err := c.open(name)
		if err != nil {
			return err
		}
		report, err := p.pick(c, pick, src)
		if err != nil && len(c.args) == 1 {
			return err
		}
		counts.Add(report, err)
		if len(p.known) == 0 {
			failed = failed || len(report.Faults) > 0
		} else if _, listed := known[filepath.Base(src.Name)]; listed != report.Misled() {
			failed = true
			fmt.Fprintf(c.stderr, "%s: not as %s has it\n", src.Name, strings.Join(p.known, ", "))
		}
		switch {
		case p.json && err == nil:
			text, err := json.Marshal(report)
			if err != nil {
				return err
			}
			fmt.Fprintf(c.data(), "%s\n", text)
		case p.json:
			fmt.Fprintf(c.stderr, "%s: %s\n", src.Name, report.Line(err))
		case len(c.args) > 1:
			fmt.Fprintf(c.stdout, "%s: %s\n", src.Name, report.Line(err))
		default:
			fmt.Fprint(c.stdout, report.String())
		}
	}
	if len(c.args) > 1 {
		fmt.Fprintln(c.stderr, counts)
	}
	if failed {
		return errFailed
	}
	return nil
}

// picker returns the function that answers for a template: the engine, or, where it is not
// installed, the readings that were published. end gives its process back.
func (p *enginesPick) picker(c *call) (pick func(*engines.Subject) (engines.PickReport, error),
	end func(), err error) {
	named := engines.Parser{Tool: p.tool, Reasoning: p.reasoning}
	command := strings.Fields(p.adapter)
	if p.adapter == "" {
		command = []string{filepath.Join("ci", "engines", p.engine, "run")}
		for _, needed := range []string{command[0], filepath.Join(".deps", "engines", p.engine)} {
			if _, err := os.Stat(needed); errors.Is(err, fs.ErrNotExist) {
				pick, err := p.published(named)
				return pick, func() {}, err
			}
		}
	}
	a, err := engines.Start(c.ctx, command, nil)
	if err != nil {
		return nil, nil, err
	}
	return func(s *engines.Subject) (engines.PickReport, error) {
		choice, err := a.Pick(c.ctx, s)
		if err != nil {
			return engines.PickReport{}, err
		}
		return engines.NewPick(a.Description, choice, named), nil
	}, a.Close, nil
}

// published returns the function that answers by the readings that were published.
func (p *enginesPick) published(named engines.Parser) (
	func(*engines.Subject) (engines.PickReport, error), error) {
	install := fmt.Sprintf("run `make engines ENGINE=%s` in Assay's repository, and this command "+
		"there, or give --adapter", p.engine)
	if len(p.known) > 0 {
		return nil, fmt.Errorf("%s is not installed, and its own choice, which --known is about, "+
			"is not published; %s", p.engine, install)
	}
	published, err := engines.PublishedReadings()
	if err != nil {
		return nil, err
	}
	if names := published.Engines(); !slices.Contains(names, p.engine) {
		return nil, usageError{fmt.Errorf("--engine %s: there is no such engine; expected %s, or "+
			"an adapter with --adapter", p.engine, strings.Join(names, ", "))}
	}
	loaded, err := families.Load(corpus.FS)
	if err != nil {
		return nil, err
	}
	return func(s *engines.Subject) (engines.PickReport, error) {
		report, err := published.Pick(loaded, p.engine, s, named)
		if err != nil {
			return report, fmt.Errorf("%s is not installed, and %w; to try its parsers on the "+
				"template's own turns %s", p.engine, err, install)
		}
		return report, nil
	}, nil
}

// pick tries the parsers on one template.
func (p *enginesPick) pick(c *call, pick func(*engines.Subject) (engines.PickReport, error),
	src subject.Source) (engines.PickReport, error) {
	s, err := engines.NewSubject(src.Limited(c.ctx, c.limits.Limits))
	if err != nil {
		return engines.PickReport{Template: src.Name}, err
	}
	report, err := pick(s)
	report.Template = src.Name
	return report, err
}

var enginesJudgeCommand = command{
	name: "judge", args: "ADAPTER...", takes: arity{1, -1, "an adapter: a program, or one with its " +
		"arguments in quotes"},
	short: "hold the grammars of engines to ours, on turns that are right and wrong",
	long: `The turns are outputs of the corpus and sentences of the grammars, most of them with bytes,
words or markers taken out, doubled or swapped. Each engine reads the grammars in its own languages,
as "assay emit" writes them, and is to take and refuse the turns that our matcher takes and refuses:
for requests as they are, with a call required, with a tool named and with one call at most. A turn
that an engine judges otherwise is printed, and the exit status is 1.`,
	setup: func(flags *flagSet) func(*call) error {
		j := new(enginesJudge)
		flags.StringVar(&j.only, "run", "", "only families whose name contains `TEXT`")
		flags.IntVar(&j.turns, "turns", 1000, "how many turns, in each language")
		flags.Int64Var(&j.seed, "seed", 1, "the `SEED` from which the turns are drawn")
		flags.BoolVar(&j.json, "json", false, "print a JSON object for each language")
		return j.run
	},
}

type enginesJudge struct {
	only  string
	turns int
	seed  int64
	json  bool
}

func (j *enginesJudge) run(c *call) error {
	loaded, err := families.Load(corpus.FS)
	if err != nil {
		return err
	}
	drawer, err := engines.NewDrawer(c.ctx, loaded, j.only)
	if err != nil {
		return err
	}
	for _, text := range drawer.Refused {
		c.note("no grammar: %s", text)
	}
	turns, err := drawer.Draw(c.ctx, j.turns, j.seed)
	if err != nil {
		return err
	}
	failed := 0
	for _, adapter := range c.args {
		a, err := engines.Start(c.ctx, strings.Fields(adapter), nil)
		if err != nil {
			return err
		}
		defer a.Close()
		judged, err := a.JudgeTurns(c.ctx, turns)
		if err != nil {
			return err
		}
		for _, one := range judged {
			failed += len(one.Differences)
			if j.json {
				if err := writeJSON(c.stdout, one); err != nil {
					return err
				}
				continue
			}
			for _, d := range one.Differences {
				fmt.Fprintln(c.stdout, d)
			}
			fmt.Fprintf(c.stdout, "%s %s, %s: %d turns by %d grammars, %d of them taken, "+
				"%d judged unlike our matcher (seed %d)\n", one.Engine, one.Version, one.Language,
				one.Turns, one.Grammars, one.Taken, len(one.Differences), j.seed)
		}
	}
	if failed > 0 {
		return errFailed
	}
	return nil
}
