// Package observe is the one place that renders probes and holds the facts about a template.
//
// # Model
//
// A [Probe] is a small conversation, made of needles: texts that no template writes by itself. An
// [Observer] renders probes with provenance (E3), each once, and cuts a rendering into atoms:
// stretches of the template's own text, and stretches that stand for one part of the conversation
// ([Atom]).
//
// [New] renders the ladder of probes (E5) and decides the [Facts]: the template's abilities, and
// the input that it demands. A fact rests on the reads and writes of a rendering. The template's
// source is never searched. Package caps judges by the facts and fits requests to them; package
// analysis compares the renderings, and has no facts of its own.
//
// # Errors
//
// A probe that the template refuses is evidence (E5): the rendering carries the error. New fails
// only where the template renders no conversation at all.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package observe

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
)

// Observer renders probes of a template, and keeps the renderings. It is not safe for concurrent
// use; its facts are.
type Observer struct {
	// Facts are known when New returns.
	Facts Facts
	// Turns are the renderings that the facts were found by.
	Turns Turns

	template  *chattemplate.Template
	parts     bool // probes have typed content, since answers are seen in no other form
	silent    bool // nothing of a user's message is written
	flags     []string
	ids       bool // calls have ids that hold their names
	flatTools bool // tools have the members of their functions beside them
	texts     bool // arguments that are no strings are given as their JSON text
	flat      bool // calls have their names and arguments beside their functions, too
	seen      map[string]*Rendering
	keys      []byte // room for a key
}

// New renders the probes that decide the facts. It fails only where the template renders no
// conversation at all: the error is the one of the plainest.
func New(t *chattemplate.Template) (*Observer, error) {
	o := &Observer{template: t, seen: map[string]*Rendering{}}
	if err := o.bind(); err != nil {
		return nil, err
	}
	o.contents()
	o.roles()
	o.tools()
	o.calls()
	o.callIDs()
	o.reasoning()
	o.preserved()
	o.effort()
	o.needs()
	return o, nil
}

// Template returns the template.
func (o *Observer) Template() *chattemplate.Template { return o.template }

// Rendering is a rendered probe, cut into atoms.
type Rendering struct {
	Probe Probe
	jinja.Text
	// Tail has the texts after the last byte of the user's message, and all of the prompt where the
	// template writes no such message.
	Tail  []Atom
	Trace *jinja.Trace
	Err   error // why the template refuses the probe; there are no atoms then

	named bool   // ids hold the names of calls
	atoms []Atom // of the whole prompt, once they are asked for
}

// Atoms returns the atoms of the whole prompt.
func (r *Rendering) Atoms() []Atom {
	if r.atoms == nil && r.Err == nil {
		r.atoms = r.atomized(0, 0)
	}
	return r.atoms
}

// atomized returns the atoms from a run and its offset on.
func (r *Rendering) atomized(run, offset int) []Atom {
	atoms := atomize(r.String[offset:], r.Runs[run:], r.Probe)
	if r.named {
		atoms = namedIDs(atoms)
	}
	return atoms
}

// Observe renders a probe, with the variables that the template demands and, where it shows nothing
// else, with typed content. The same probe again costs nothing, nor does one that differs from it
// in nothing that the template looks up.
func (o *Observer) Observe(p Probe) *Rendering {
	p.Parts = p.Parts || o.parts
	key := string(o.key(p))
	if r, ok := o.seen[key]; ok {
		return r
	}
	if r := o.alike(p); r != nil {
		o.seen[key] = r
		return r
	}
	got, err := o.template.Observe(o.input(p))
	r := &Rendering{Probe: p, Text: got.Text, Trace: got.Trace, Err: err, named: o.ids}
	if err == nil {
		if r.Tail = r.tailAfterUser(); o.silent {
			r.Tail = r.Atoms()
		}
		if len(r.Tail) > maxTail {
			o.GiveUp(fmt.Sprintf("the template writes an answer in %d "+
				"pieces, more than %d", len(r.Tail), maxTail))
			r = &Rendering{Probe: p, Trace: got.Trace, Err: errTail}
		}
	}
	o.seen[key] = r
	o.template.Charge(r.size() + len(key))
	return r
}

// input returns the input of a probe, with the variables that the template demands and with tools
// as it reads them.
func (o *Observer) input(p Probe) chattemplate.Input {
	in := p.input()
	in.Kwargs = append(slices.Clip(o.Facts.Needs.Bound), in.Kwargs...)
	if o.flatTools {
		in.Tools = slices.Clone(in.Tools)
		for i, t := range in.Tools {
			in.Tools[i] = Flat(t)
		}
	}
	return in
}

// alike returns the rendering of a probe from that of another one, which has been seen and differs
// in one variable that the template did not look up (E4); nil if there is none.
func (o *Observer) alike(p Probe) *Rendering {
	other := func(variable string, of Probe) *Rendering {
		r := o.seen[string(o.key(of))]
		if r == nil || r.LooksUp(variable) {
			return nil
		}
		same := *r
		same.Probe = p
		return &same
	}
	of := p
	of.Generate = !p.Generate
	r := other("add_generation_prompt", of)
	if r == nil {
		of.Generate, of.Tools = p.Generate, !p.Tools
		r = other("tools", of)
	}
	if last := len(p.Kwargs) - 1; r == nil && last >= 0 {
		of.Tools, of.Kwargs = p.Tools, p.Kwargs[:last]
		r = other(p.Kwargs[last].Key, of)
	}
	return r
}

// maxTail bounds the atoms of an answer, since those of one rendering are compared with those of
// others. Templates in public use write at most a hundred.
const maxTail = 1000

var errTail = errors.New("an answer in more pieces than are looked at")

// GiveUp ends the look at a template for a reason: the renders that come after it are refused, and
// nothing is judged by their absence.
func (o *Observer) GiveUp(reason string) { o.template.Budget.Exhaust(reason) }

// size is about how many bytes a rendering takes.
func (r *Rendering) size() int {
	return len(r.String) + len(r.Runs)*int(unsafe.Sizeof(jinja.Run{})) +
		(len(r.Runs)+len(r.Tail))*int(unsafe.Sizeof(Atom{})) + r.Trace.Size()
}

// Searched returns the literals with which the template searched, split, stripped or compared the
// content of an answer in any probe so far (E4), sorted.
func (o *Observer) Searched() []string {
	var found []string
	for _, r := range o.seen {
		found = append(found, r.Trace.Literals(r.Probe.AnswerPath()+".content")...)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// LooksUp reports whether the rendering, or its part before it failed, looked a variable up. One
// that it did not look up changes nothing of it (E4).
func (r *Rendering) LooksUp(variable string) bool {
	_, looked := r.Trace.Reading(variable)
	return looked
}

// Shows reports whether the probe was rendered and its turn, after the user's message, has an atom
// of a kind.
func (r *Rendering) Shows(k Kind) bool {
	return r != nil && r.Err == nil &&
		slices.ContainsFunc(r.Tail, func(at Atom) bool { return at.Kind == k })
}

// Writes reports whether the rendering has text that was copied from a path.
func (r *Rendering) Writes(path string) bool { return r.wrote(path, false) }

// Copies reports whether the rendering has the text from a path as it is, and not as a part of a
// printed list or object.
func (r *Rendering) Copies(path string) bool { return r.wrote(path, true) }

func (r *Rendering) wrote(path string, plain bool) bool {
	return r != nil && r.Err == nil && slices.ContainsFunc(r.Runs, func(run jinja.Run) bool {
		return run.Path == path && run.Role == jinja.FromValue &&
			(!plain || run.Codec == jinja.Plain)
	})
}
