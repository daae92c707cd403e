package engines

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/formatjson"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/embedded"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/script"
	"github.com/goassay/assay/harness/hub/manifest"
)

//go:embed page.html published.jsonl
var stored embed.FS

var files = embedded.FS{Stored: &stored}

// PublishedReadings returns the readings that `make engines` wrote last: of the template of each
// family by each parser of each engine.
func PublishedReadings() (*Published, error) {
	text, err := files.ReadFile("published.jsonl")
	if err != nil {
		return nil, err
	}
	return ReadPublished(text)
}

// Published has readings of families by engines by parsers. It answers for an engine that is not
// installed. Its zero value is empty.
type Published struct {
	engines  map[string]*publishedEngine
	families map[string]map[string]*publishedFamily // by engine and family
	formats  map[string]string                      // of the families' templates, see formatOf
}

// publishedLine is a line of the file: an engine, or a family in an engine with an earlier line.
type publishedLine struct {
	Engine *publishedEngine `json:"engine,omitempty"`
	Family *publishedFamily `json:"family,omitempty"`
}

type publishedEngine struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Date    string `json:"date"` // of the run: 2006-01-02
	// The names of the parsers, and whether the engine makes one of the template instead.
	Tools      []string `json:"tools,omitempty"`
	Thoughts   []string `json:"reasoning,omitempty"`
	ByTemplate bool     `json:"by_template,omitempty"`
	OneParser  bool     `json:"one_parser,omitempty"`
}

type publishedFamily struct {
	Name   string `json:"name"`
	Engine string `json:"engine"`
	// Template is the digest of the family's template. The readings are of no other.
	Template string  `json:"template"`
	Best     Parser  `json:"best"`
	Tools    counted `json:"tools"`
	Thoughts counted `json:"reasoning"`
}

// counted are readings of so many turns, without the parsers that read none.
type counted struct {
	Turns   int           `json:"turns,omitempty"`
	Parsers []parserReads `json:"parsers,omitempty"`
}

// parserReads is a [Reading] of turns whose number is known.
type parserReads struct {
	Parser  string `json:"parser"`
	Read    int    `json:"read"`
	First   bool   `json:"first,omitempty"`
	Other   int    `json:"other,omitempty"`
	Witness string `json:"witness,omitempty"`
}

// ReadPublished reads the readings of a file.
func ReadPublished(text []byte) (*Published, error) {
	p := new(Published)
	in := bufio.NewScanner(bytes.NewReader(text))
	in.Buffer(nil, maxAnswer)
	for n := 1; in.Scan(); n++ {
		var line publishedLine
		err := json.Unmarshal(in.Bytes(), &line)
		switch {
		case err != nil:
		case line.Engine != nil:
			p.addEngine(line.Engine)
		case line.Family == nil:
			err = errors.New("expected an engine or a family")
		case p.engines[line.Family.Engine] == nil:
			err = fmt.Errorf("no line of the engine %q stands before it", line.Family.Engine)
		default:
			p.families[line.Family.Engine][line.Family.Name] = line.Family
		}
		if err != nil {
			return nil, fmt.Errorf("line %d of the published readings: %w", n, err)
		}
	}
	return p, in.Err()
}

// addEngine begins the readings of an engine; those of another run of it go.
func (p *Published) addEngine(e *publishedEngine) {
	if p.engines == nil {
		p.engines = map[string]*publishedEngine{}
		p.families = map[string]map[string]*publishedFamily{}
	}
	p.engines[e.Name], p.families[e.Name] = e, map[string]*publishedFamily{}
}

// Begin begins the readings of an engine that was run on a date.
func (p *Published) Begin(d Description, date string) {
	p.addEngine(&publishedEngine{Name: d.Engine, Version: d.Version, Date: date,
		Tools: d.ToolParsers, Thoughts: d.ReasoningParsers, ByTemplate: d.ByTemplate,
		OneParser: d.OneParser})
}

// Add adds the readings of a family's template by an engine that has begun.
func (p *Published) Add(engine, family string, s *Subject, choice Choice) {
	p.families[engine][family] = &publishedFamily{Name: family, Engine: engine,
		Template: digest(s.Source), Best: choice.Best, Tools: counting(choice.Tools),
		Thoughts: counting(choice.Thoughts)}
}

// counting takes the parsers that read nothing off, and the witnesses of all but the first.
func counting(all []Reading) counted {
	var c counted
	for i, r := range all {
		c.Turns = r.Of
		switch {
		case i == 0:
			c.Parsers = append(c.Parsers,
				parserReads{r.Parser, r.Read, r.First, r.Other, r.Witness})
		case r.Read > 0:
			c.Parsers = append(c.Parsers, parserReads{r.Parser, r.Read, r.First, r.Other, ""})
		}
	}
	return c
}

// readings returns the readings with those of the other parsers, which read no turn.
func (c counted) readings(names []string) []Reading {
	if c.Turns == 0 {
		return nil
	}
	var all []Reading
	for _, r := range c.Parsers {
		all = append(all, Reading{r.Parser, r.Read, c.Turns, r.First, r.Other, r.Witness})
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(r Reading) bool { return r.Parser == name }) {
			all = append(all, Reading{Parser: name, Of: c.Turns})
		}
	}
	return all
}

// Text returns the readings as JSON lines, which [ReadPublished] reads.
func (p *Published) Text() (string, error) {
	var b strings.Builder
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	for _, name := range p.Engines() {
		if err := out.Encode(publishedLine{Engine: p.engines[name]}); err != nil {
			return "", err
		}
		for _, family := range p.familiesOf(name) {
			line := publishedLine{Family: p.families[name][family]}
			if err := out.Encode(line); err != nil {
				return "", err
			}
		}
	}
	return b.String(), nil
}

// Engines returns the names of the engines, in order.
func (p *Published) Engines() []string { return slices.Sorted(maps.Keys(p.engines)) }

// familiesOf returns the names of the families that an engine was run on, in order.
func (p *Published) familiesOf(engine string) []string {
	return slices.Sorted(maps.Keys(p.families[engine]))
}

// NoFamilyError reports a template whose format no family of the published readings has.
type NoFamilyError struct{ Template, Engine, Date string }

func (e *NoFamilyError) Error() string {
	return fmt.Sprintf("%s: its format is that of no family for which readings of %s were "+
		"published on %s", e.Template, e.Engine, e.Date)
}

// Pick answers for a template by the readings of the family whose template has the same format. It
// returns a [NoFamilyError] where there is no such family. The engine's own choice is unknown,
// since that hangs on the text of the template.
func (p *Published) Pick(c *families.Corpus, engine string, s *Subject,
	named Parser) (PickReport, error) {
	e := p.engines[engine]
	if e == nil {
		return PickReport{}, fmt.Errorf("no readings of an engine %q were published; there are "+
			"those of %s", engine, strings.Join(p.Engines(), ", "))
	}
	want := formatText(s.Template)
	for _, name := range p.familiesOf(engine) {
		f := p.families[engine][name]
		if own, err := p.formatOf(c, f); err != nil {
			return PickReport{}, err
		} else if own != want {
			continue
		}
		choice := Choice{Best: f.Best, Undisclosed: s.Template.Analysis().Format.Undisclosed,
			Tools: f.Tools.readings(e.Tools), Thoughts: f.Thoughts.readings(e.Thoughts)}
		if e.ByTemplate {
			choice.Detected = &Parser{byTemplate, byTemplate}
		}
		report := NewPick(Description{Engine: e.Name, Version: e.Version}, choice, named)
		report.Template = s.Source.Name
		report.Published = &Origin{Date: e.Date, Family: name}
		return report, nil
	}
	return PickReport{}, &NoFamilyError{s.Source.Name, engine, e.Date}
}

// formatOf returns the format of a family's template; "" where the corpus has another template. It
// is learnt once, for all engines: the digest tells that their readings are of the same template.
func (p *Published) formatOf(c *families.Corpus, f *publishedFamily) (string, error) {
	if text, known := p.formats[f.Template]; known {
		return text, nil
	}
	src, ok := f.source(c)
	if !ok {
		return "", nil
	}
	own, err := NewSubject(src)
	if err != nil {
		return "", err
	}
	if p.formats == nil {
		p.formats = map[string]string{}
	}
	p.formats[f.Template] = formatText(own.Template)
	return p.formats[f.Template], nil
}

// source returns the template of which the readings are, where the corpus still has it.
func (f *publishedFamily) source(c *families.Corpus) (src subject.Source, ok bool) {
	src, err := script.Own(c, f.Name)
	return src, err == nil && digest(src) == f.Template
}

// formatText returns a template's format and the texts that its prompts put after the header: all
// that its parser is made of.
func formatText(t *engine.Template) string {
	a := t.Analysis()
	return formatjson.Write(formatjson.Document{Format: a.Format,
		Prefills: slices.Sorted(slices.Values(a.Prefills))}).String()
}

// digest is the first 16 digits of the SHA-256 of a template's source.
func digest(src subject.Source) string {
	return manifest.Digest(src.Text)[:16]
}
