package vector

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/report"
)

// template is a template that vectors name, compiled once for those that follow each other.
// Rendering alone needs no chat template around it.
type template struct {
	program func() (*jinja.Template, error)
	chat    func() (*engine.Template, error)
}

// maxTemplates is how many templates stay compiled.
const maxTemplates = 64

// cache has the templates that were used last, by file name.
type cache struct {
	mu      sync.Mutex
	entries map[string]*cached
	clock   int
}

type cached struct {
	load func() (*template, error)
	used int
}

// get returns the loader of a name, made by load where there is none.
func (c *cache) get(name string, load func() (*template, error)) func() (*template, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.clock++
	e := c.entries[name]
	if e == nil {
		if c.entries == nil {
			c.entries = map[string]*cached{}
		}
		if len(c.entries) >= maxTemplates {
			oldest := ""
			for other, e := range c.entries {
				if oldest == "" || e.used < c.entries[oldest].used {
					oldest = other
				}
			}
			delete(c.entries, oldest)
		}
		e = &cached{load: sync.OnceValues(load)}
		c.entries[name] = e
	}
	e.used = c.clock
	return e.load
}

func (v *Verifier) template(ctx context.Context, vec *Vector) (*template, error) {
	return v.named(ctx, vec.Value.At("template").Text())
}

// named returns a template by its path in one of the folders.
func (v *Verifier) named(ctx context.Context, name string) (*template, error) {
	return v.read(ctx, name, "", engine.Options{Limits: v.Limits, Now: v.Now})
}

// read returns a template by its path, compiled with options, which have a name where they differ
// from the usual ones.
func (v *Verifier) read(ctx context.Context, name, variant string, o engine.Options) (*template,
	error) {
	return v.cache.get(name+"\x00"+variant, func() (*template, error) {
		text, err := v.Templates.text(name)
		if err != nil {
			return nil, err
		}
		return &template{
			program: sync.OnceValues(func() (*jinja.Template, error) {
				return v.compile(source.New(name, text))
			}),
			chat: sync.OnceValues(func() (*engine.Template, error) {
				return subject.With(ctx, []subject.Source{subject.New(name, text)}, o)[0].Compile()
			}),
		}, nil
	})()
}

func (v *Verifier) render(ctx context.Context, vec *Vector) error {
	t, err := v.template(ctx, vec)
	if err != nil {
		return err
	}
	return v.expectText(ctx, vec, t.program)
}

func (v *Verifier) jinja(ctx context.Context, vec *Vector) error {
	return v.expectText(ctx, vec, func() (*jinja.Template, error) {
		return v.compile(source.New(vec.ID, vec.Value.At("template").Text()))
	})
}

// compile compiles a template that is rendered alone.
func (v *Verifier) compile(src *source.Source) (*jinja.Template, error) {
	if err := chattemplate.Fits(src, v.Limits.Source); err != nil {
		return nil, err
	}
	return jinja.Compile(src)
}

// below are the classes of errors that Python raises below jinja2, in its own compiler and
// interpreter: where one of them is wanted, any error will do.
var below = []string{"SyntaxError", "RecursionError", "RuntimeError", "AssertionError",
	"MemoryError"}

func (v *Verifier) expectText(ctx context.Context, vec *Vector, compile func() (*jinja.Template,
	error)) error {
	text, err := v.renderVars(ctx, vec, compile)
	if class := vec.Value.At("error").Text(); class != "" {
		switch got := jinja.Class(err); {
		case err == nil:
			return fmt.Errorf("rendered %q, want the error %s", text, class)
		case got != class && !slices.Contains(below, class):
			return fmt.Errorf("failed with %s, want %s\n%s", got, class, source.Detail(err))
		}
		return nil
	}
	if err != nil {
		return err
	}
	if want := vec.Value.At("want").Text(); text != want {
		at := report.Parting(want, text)
		return fmt.Errorf("rendered another text "+
			"from byte %d on\n%s", at, report.Sides("want", want, "got", text))
	}
	return nil
}

func (v *Verifier) renderVars(ctx context.Context, vec *Vector,
	compile func() (*jinja.Template, error)) (string, error) {
	t, err := compile()
	if err != nil {
		return "", err
	}
	o := jinja.Options{Mode: jinja.Immutable, Limits: v.Limits.Render, Now: v.Now}
	if o.Now == nil {
		o.Now = subject.Now
	}
	return t.Render(ctx, jinja.NewVars(vec.Value.At("vars").Members()...), o)
}
