package subject

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/engine/jinja/flow/reach"
	"github.com/goassay/assay/engine/lists"
	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/conversation"
)

// maxTemplate bounds the size of a template's file, in bytes. The largest in public use have some
// 30 kB.
const maxTemplate = 4 << 20

// Source is a template as a person names it.
type Source struct {
	engine.Source
	File string // where it stands: the name, without the part of the file that is meant
	// Shadowed are the names of the other templates that stand beside it and differ from it: which
	// of them a server takes depends on the server.
	Shadowed []string

	compiler    compiler // with the context and the options of the sources that it comes with
	compile     func() (*engine.Template, error)
	unreachable func() map[reach.Outcome]string
	grammar     func() *conversation.Grammar
	explored    func() *conversation.Exploration
	parts       func() *edit.Template
	places      *source.Source // the text, which finds its positions once
	edited      *edited        // how it came of another one; nil: it is as it was opened
}

// edited is how a source came of another one.
type edited struct {
	from  Source
	edits []edit.Edit // in order
}

// Places returns the text of the template, for positions in it.
func (s Source) Places() *source.Source { return s.places }

// Compile compiles the template with the clock of this package, once for all copies of the source.
func (s Source) Compile() (*engine.Template, error) { return s.compile() }

// Exhausted returns why the look at the template is incomplete, nil where it is not: the limits
// ended its compilation, or a render. It wraps [engine.ErrExhausted].
func (s Source) Exhausted() error {
	t, err := s.compile()
	if err == nil {
		return t.Exhausted()
	}
	if errors.Is(err, engine.ErrExhausted) {
		return err
	}
	return nil
}

// Unreachable returns the outcomes of the template's decisions that no request reaches, as
// [reach.Unreachable] proves them, once for all copies of the source.
func (s Source) Unreachable() map[reach.Outcome]string { return s.unreachable() }

// Grammar returns the usual conversations, in words that the template does not have, once for all
// copies of the source.
func (s Source) Grammar() *conversation.Grammar { return s.grammar() }

// Explored returns the part of the template that the usual conversations reach, once for all copies
// of the source; nil where it does not compile.
func (s Source) Explored() *conversation.Exploration { return s.explored() }

// Unusable is why a template that [engine.Compile] refuses with err takes no tools.
func Unusable(err error) error {
	switch jinja.Class(err) {
	case "", "TemplateSyntaxError", "TemplateAssertionError":
		return errors.New("it does not compile")
	}
	return errors.New("not even one user message can be rendered")
}

// Same reports whether two sources have the same text and the same special tokens.
func (s Source) Same(other Source) bool {
	return s.Text == other.Text && s.BOS == other.BOS && s.EOS == other.EOS
}

// New returns a source of a text with the special tokens of this package, which stand for the
// model's.
func New(name, text string) Source {
	return sourceOf(name, engine.Source{Name: name, Text: text, BOS: BOS, EOS: EOS, StandIns: true})
}

// WithTokens returns the source with other special tokens.
func (s Source) WithTokens(bos, eos string) Source {
	s.BOS, s.EOS, s.StandIns = bos, eos, false
	return s.with(s.compiler)
}

func newSource(name, text, bos, eos string) Source {
	return sourceOf(name, engine.Source{Name: name, Text: text, BOS: bos, EOS: eos})
}

func sourceOf(file string, src engine.Source) Source {
	return Source{Source: src, File: file}.Limited(context.Background(), engine.Limits{})
}

// Limited returns the source with limits on its renders; zero: the defaults. The end of ctx ends
// its renders, as [engine.Compile] has it.
func (s Source) Limited(ctx context.Context, l engine.Limits) Source {
	return With(ctx, []Source{s}, engine.Options{Limits: l})[0]
}

// compiler compiles a template.
type compiler func(engine.Source) (*engine.Template, error)

func (s Source) with(c compiler) Source {
	src := s.Source
	s.compiler = c
	s.places = source.New(s.Name, s.Text)
	places := s.places
	s.unreachable = sync.OnceValue(func() map[reach.Outcome]string {
		return reach.Unreachable(places)
	})
	s.parts = sync.OnceValue(func() *edit.Template { return edit.Read(places) })
	s.compile = sync.OnceValues(func() (*engine.Template, error) { return c(src) })
	s.grammar = sync.OnceValue(func() *conversation.Grammar {
		return conversation.UsualBeside(src.Text)
	})
	unreachable, compile, grammar := s.unreachable, s.compile, s.grammar
	s.explored = sync.OnceValue(func() *conversation.Exploration {
		t, err := compile()
		if err != nil {
			return nil
		}
		return conversation.Explore(t.ChatTemplate(), grammar(), t.Caps().Needs.Bound,
			conversation.UsualRenders, unreachable)
	})
	return s
}

// Limited returns sources that come together, such as those of a file, with limits that they have
// together.
func Limited(ctx context.Context, sources []Source, l engine.Limits) []Source {
	return With(ctx, sources, engine.Options{Limits: l})
}

// With returns sources that come together with options that they have together; the clock is this
// package's where they have none. The end of ctx ends their renders, as [engine.Compile] has it.
func With(ctx context.Context, sources []Source, o engine.Options) []Source {
	if o.Now == nil {
		o.Now = Now
	}
	o = o.Together()
	compile := func(src engine.Source) (*engine.Template, error) {
		return engine.Compile(ctx, src, o)
	}
	return lists.Map(sources, func(src Source) Source { return src.with(compile) })
}

// Open reads a template: a Jinja file, "-" for stdin, a tokenizer_config.json by any name, a
// family's folder, a model folder or a model file. Of several templates the one is taken that
// transformers takes from a folder for requests with tools, or llama.cpp from a model file, unless
// the name reports which: tokenizer_config.json#default.
func Open(name string, stdin io.Reader) (Source, error) {
	all, err := OpenAll(name, stdin)
	if err != nil {
		return Source{}, err
	}
	return all[0], nil
}

// OpenAll reads all templates of an argument of [Open]: first the one that Open returns, then the
// others of the same file, each text once.
func OpenAll(name string, stdin io.Reader) ([]Source, error) {
	file, chosen := name, ""
	if at := strings.LastIndexByte(name, '#'); at >= 0 && !exists(name) {
		file, chosen = name[:at], name[at+1:]
	}
	m, src, err := open(file, stdin)
	switch {
	case err != nil:
		return nil, err
	case m == nil && chosen == "":
		return []Source{src}, nil
	case m == nil:
		return nil, fmt.Errorf("%s is one template and has none named %q", file, chosen)
	case chosen == "":
		return m.all()
	}
	src, err = m.named(filepath.Clean(name))
	return []Source{src}, err
}

// open reads a file with templates, or a model; nil where the file is one template itself.
func open(name string, stdin io.Reader) (*Model, Source, error) {
	if IsModel(name) {
		m, err := OpenModel(name)
		return m, Source{}, err
	}
	if own, ok := ownTemplate(name); ok {
		name = own
	}
	text, err := read(name, stdin)
	if err == nil {
		err = readable(name, text)
	}
	if err != nil {
		return nil, Source{}, err
	}
	if isConfig(name, text) {
		m, err := openConfig(name, text)
		return m, Source{}, err
	}
	return nil, New(name, text), nil
}

// Texts are the templates of a file that is not on the disk, such as one of a commit: as [OpenAll]
// has them, without the files beside it.
func Texts(name, text string) ([]Source, error) {
	if !isConfig(name, text) {
		return []Source{New(name, text)}, nil
	}
	f, err := modeldir.ReadConfig(name, text)
	if err != nil {
		return nil, err
	}
	return NewModel(name, "", f).all()
}

// Read reads a Jinja file that is not on the disk, such as one of a bucket.
func Read(name string, r io.Reader) (Source, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxTemplate+1))
	if err = bounded(name, len(text), err); err == nil {
		err = readable(name, string(text))
	}
	if err == nil && isConfig(name, string(text)) {
		err = fmt.Errorf("%s is a configuration, expected a Jinja file: `assay manifest --store` "+
			"makes one of each of its templates", name)
	}
	if err != nil {
		return Source{}, err
	}
	return New(name, string(text)), nil
}

func isConfig(name, text string) bool {
	return filepath.Ext(name) == ".json" || config.MatchString(text)
}

// config matches a JSON object with chat templates, after a byte order mark too, which JSON does
// not allow. No Jinja begins so.
var config = regexp.MustCompile(`^\x{feff}?\s*\{\s*"((?s:.*)")?chat_template"\s*:`)

// readable refuses a file whose text cannot be a template; one may begin with a byte order mark.
func readable(name, text string) error {
	wrong := func(what string) error { return source.Errorf(source.New(name, ""), 0, "%s", what) }
	switch why := source.Encoding(text); {
	case strings.TrimSpace(text) == "":
		return wrong("the file is empty, expected a template")
	case why != "" && !strings.HasPrefix(text, "\ufeff"):
		return wrong(why)
	}
	return nil
}

// exists reports whether there is a file or a folder of a name.
func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func read(name string, stdin io.Reader) (string, error) {
	if name == "-" {
		text, err := io.ReadAll(io.LimitReader(stdin, maxTemplate+1))
		return string(text), bounded("standard input", len(text), err)
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxTemplate+1))
	return string(text), bounded(name, len(text), err)
}

func bounded(name string, n int, err error) error {
	if err == nil && n > maxTemplate {
		return fmt.Errorf("%s: larger than %d bytes, which is no template", name, maxTemplate)
	}
	return err
}

// relocate gives an error of a JSON text its file.
func relocate(src *source.Source, err error) error {
	if e, ok := err.(*source.Error); ok {
		return source.Errorf(src, e.Off, "%s", e.Msg)
	}
	return err
}

// ReadJSON reads a JSON file, "-" for stdin; errors have their place.
func ReadJSON(name string, stdin io.Reader) (ordered.Value, error) {
	text, err := read(name, stdin)
	if err != nil {
		return ordered.Value{}, err
	}
	v, err := ordered.ParseString(text)
	if err != nil {
		return v, relocate(source.New(name, text), err)
	}
	return v, nil
}

// WithText returns the source with another text, such as one that was edited. They come together:
// what the renders of one take is missing to the other.
func (s Source) WithText(text string) Source {
	s.Source.Text, s.edited = text, nil
	return s.with(s.compiler)
}

// Edited returns the source with edits of its text. What is found in it has places of the text as
// it was ([Source.Original]).
func (s Source) Edited(edits ...edit.Edit) Source {
	text, made := edit.Apply(s.Text, edits...)
	changed := s.WithText(text)
	changed.edited = &edited{s, made}
	return changed
}

// Original returns the source as it was opened, and the place there of a place in it.
func (s Source) Original(off int) (Source, int) {
	if s.edited == nil {
		return s, off
	}
	moved := 0 // how much longer the text has become before the place
	for _, e := range s.edited.edits {
		at := e.From + moved
		if off < at {
			break
		}
		if off < at+len(e.Text) {
			return s.edited.from.Original(e.From)
		}
		moved += len(e.Text) - (e.To - e.From)
	}
	return s.edited.from.Original(off - moved)
}

// Parts are the template in parts; it has none where it is no valid Jinja.
func (s Source) Parts() *edit.Template { return s.parts() }

// Extent returns the stretch of a line of the template that a place there is about.
func (s Source) Extent(off int) (from, to int) { return s.parts().OnLine(off) }

// Condition returns where the condition begins that a place is in.
func (s Source) Condition(off int) (at int, ok bool) { return s.parts().Condition(off) }

// Operand returns the part of a sum at a byte offset for which it fails with a message.
func (s Source) Operand(off int, msg string) int { return s.parts().Blamed(off, msg) }
