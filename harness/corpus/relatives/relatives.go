// Package relatives finds the families of the corpus that behave like a template, by fingerprints
// that were made in advance.
//
// # Model
//
// A fingerprint has values of some 160 aspects. Its fates tell which sorts of texts the prompts of
// some 75 fixed requests have, and which of the requests are refused. The others are choices: the
// capabilities, the format of answers as it was learnt, and the template's own text around
// messages. corpus/relatives.json has the fingerprints of all families; that of a template takes a
// small render for each request, once. Two are as near as the share of fates and the share of
// choices that they have in common, on average; neither names nor the texts of sources are
// compared. Special tokens are those of package subject.
//
// A relative is evidence (E35): it says what others do with a part of a request, and never makes
// a finding.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package relatives

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/fact/boundary"
	"github.com/goassay/assay/harness/check/fact/losses"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/check/view"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/conversation/sent"
)

// fixed is a fixed request. If it is shown, its prompt must not be that of the plain one; if it is
// framed, its frames are aspects.
type fixed struct {
	name          string
	in, plain     chattemplate.Input
	shown, framed bool
}

// requests are those of package sent, and one more.
var requests = sync.OnceValue(func() (all []fixed) {
	for _, r := range sent.Requests() {
		all = append(all, fixed{name: r.Name, in: view.Neutral(r.Request), framed: true})
	}
	for _, r := range sent.All() {
		all = append(all, fixed{name: r.Name, in: view.Neutral(r.Sent),
			plain: view.Neutral(r.Plain), shown: r.Relation == sent.Shown})
	}
	return append(all, fixed{name: "instructions of a developer",
		in: chattemplate.Input{Generate: true, Messages: []ordered.Value{
			chat.MessageOf("developer", ordered.Str("Answer in one short sentence.")),
			chat.User("Who painted the harbour at dawn?")}}})
})

// The values of fates, the best first: of sorts of texts, and of requests, which have none where
// they are taken.
const (
	written = "written"
	partly  = "lost in some requests"
	lost    = "lost"
	refused = "refused"
)

// request begins the name of an aspect that has such a fate or none.
const request = "a request with "

var fates = []string{written, partly, lost, refused}

// print has the values of a template's aspects.
type print map[string]string

// take makes the fingerprint of a template.
func take(s *probe.Subject) print {
	p := print{}
	learnt := s.Template.Caps().String() + s.Template.Analysis().Format.String()
	for line := range strings.Lines(learnt) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok {
			p[name] += shortened(value)
		}
	}
	for _, r := range requests() {
		bound := s.Template.Caps().Needs.Bound
		r.in.Kwargs = slices.Concat(bound, r.in.Kwargs)
		r.plain.Kwargs = slices.Concat(bound, r.plain.Kwargs)
		t := prompts.Look(s, r.in)
		switch {
		case t.Err != nil:
			p[request+r.name] = refused
		case r.shown:
			plain, err := s.Render(r.plain)
			p.add(r.name, err == nil && plain.Text != t.Text)
		default:
			p.leaves(t)
		}
		if r.framed {
			p.frames(t)
		}
	}
	return p
}

// add notes whether a request's text of a sort reached its prompt.
func (p print) add(sort string, there bool) {
	is := map[bool]string{true: written, false: lost}[there]
	if was := cmp.Or(p[sort], is); was != is {
		is = partly
	}
	p[sort] = is
}

// leaves notes which texts of a request reached the prompt. Those of a list of required parameters
// and names beside results stand elsewhere in the request, too.
func (p print) leaves(t *prompts.Prompt) {
	for _, l := range t.Leaves() {
		if l.Part != conversation.Required && l.Part != conversation.ResultName {
			p.add(sortOf(t, l), prompts.Has(t.Origins(), prompts.OriginOf(l)) ||
				strings.Contains(l.Text, " ") && t.Shows(l.Text))
		}
	}
}

// sortOf names the sort of a leaf, so that those of two requests can be compared.
func sortOf(t *prompts.Prompt, l conversation.Leaf) string {
	name := losses.SubjectOf(losses.Lost{Leaf: l, In: t}, nil)
	switch {
	case strings.Contains(l.Path, ".content["):
		name += " in parts"
	case l.Index > 0:
		name += " after another one"
	case l.Message > 0 && prompts.Instructs(t.Kinds[l.Message]):
		name += " after other messages"
	}
	return name
}

var values = regexp.MustCompile("\x00+")

// frames adds the template's own text around the messages of a prompt, with an ellipsis for each
// value. Of prompts that have the same kinds side by side the first one tells.
func (p print) frames(t *prompts.Prompt) {
	for _, g := range boundary.GapsIn(t) {
		name := strings.ReplaceAll("the text between "+probe.Article(g.Before.String())+" and "+
			probe.Article(g.After.String()), "a nothing", "an end of the prompt")
		text := values.ReplaceAllString(t.Framed()[g.At:g.To], "…")
		if strings.Contains(text, "…") {
			name += ", with values"
		}
		p[name] = cmp.Or(p[name], shortened(ordered.Str(text).String()))
	}
}

// mostShown bounds the bytes of a value that is kept whole.
const mostShown = 64

// shortened is a value without its middle, where it is long, and its digest behind a zero byte.
func shortened(text string) string {
	if len(text) <= mostShown {
		return text
	}
	return fmt.Sprintf("%s … %s\x00%08x", strings.ToValidUTF8(text[:mostShown/2], ""),
		strings.ToValidUTF8(text[len(text)-mostShown/4:], ""), crc32.ChecksumIEEE([]byte(text)))
}

// File is the file of the corpus with the fingerprints of its families: of each aspect the values,
// each with the families that have it.
const File = "relatives.json"

var known = sync.OnceValue(func() map[string]print {
	var aspects map[string]map[string]string
	text, err := corpus.FS.ReadFile(File)
	if err := errors.Join(err, json.Unmarshal(text, &aspects)); err != nil {
		panic(err) // it is embedded
	}
	all := map[string]print{}
	for aspect, values := range aspects {
		for value, families := range values {
			for _, family := range strings.Fields(families) {
				if all[family] == nil {
					all[family] = print{}
				}
				all[family][aspect] = value
			}
		}
	}
	return all
})

// near is the likeness that makes a family a relative, in percent.
const near = 83

// Kin are the relatives of a template.
type Kin struct {
	Nearest string   `json:"nearest"` // a family, near or not
	Percent int      `json:"percent"` // its likeness
	Near    []string `json:"near"`    // the families that are near, the nearest first
	// Differences from the nearest, where that is near: what is lost or refused here and not there
	// first, then the choices.
	Differences []string `json:"differences"`

	mine print
}

var of = probe.NewFact(func(s *probe.Subject) *Kin {
	if !s.Source.StandIns { // the families have no others
		s = probe.New(s.Source.WithTokens(subject.BOS, subject.EOS), probe.Options{}, nil)
	}
	if s.Template == nil {
		return nil
	}
	k := &Kin{mine: take(s), Near: []string{}, Differences: []string{}}
	if s.Template.Exhausted() != nil {
		return nil
	}
	alike, all := map[string]int{}, slices.Sorted(maps.Keys(known()))
	for _, family := range all {
		alike[family] = k.mine.alike(known()[family])
	}
	slices.SortStableFunc(all, func(a, b string) int { return alike[b] - alike[a] })
	k.Nearest, k.Percent = all[0], alike[all[0]]
	for _, family := range all {
		if alike[family] >= near {
			k.Near = append(k.Near, family)
		}
	}
	if len(k.Near) > 0 {
		k.Differences = k.mine.differences(k.Nearest)
	}
	return k
})

// Find finds the relatives of a template; nil where it does not compile, or its limits ended the
// look at it.
func Find(src subject.Source) *Kin { return of.Of(probe.New(src, probe.Options{}, nil)) }

// fate is the rank of a fate, -1 of a choice and where there is none.
func (p print) fate(aspect string) int { return slices.Index(fates, p[aspect]) }

// alike is the likeness of two fingerprints in percent. A request that both take counts, too.
func (p print) alike(q print) int {
	same, all := [2]int{1: len(requests())}, [2]int{1: len(requests())}
	compare := func(aspect string) {
		sort := min(1, max(p.fate(aspect), q.fate(aspect))+1)
		if strings.HasPrefix(aspect, request) { // it is counted already
			same[1]--
			all[1]--
		}
		if all[sort]++; p[aspect] == q[aspect] {
			same[sort]++
		}
	}
	for aspect := range p {
		compare(aspect)
	}
	for aspect := range q {
		if p[aspect] == "" {
			compare(aspect)
		}
	}
	return 50*same[0]/max(1, all[0]) + 50*same[1]/all[1]
}

// differences tells how a template differs from a family, a line each. What only one of the two
// writes around messages is told by their fates.
func (p print) differences(family string) []string {
	q := known()[family]
	losses, choices := []string{}, []string{}
	all := maps.Clone(p)
	maps.Copy(all, q)
	for _, aspect := range slices.Sorted(maps.Keys(all)) {
		none := map[bool]string{true: "taken", false: "none"}[strings.HasPrefix(aspect, request)]
		mine, _, _ := strings.Cut(cmp.Or(p[aspect], none), "\x00")
		other, _, _ := strings.Cut(cmp.Or(q[aspect], none), "\x00")
		if mine == other {
			other = "the same with another middle"
		}
		line := aspect + ": " + mine + "; in " + family + ": " + other
		switch both := p[aspect] != "" && q[aspect] != ""; {
		case p[aspect] == q[aspect], !both && strings.HasPrefix(aspect, "the "):
		case p.fate(aspect) > q.fate(aspect):
			losses = append(losses, line)
		default:
			choices = append(choices, line)
		}
	}
	return append(losses, choices...)
}

// named names the first of some families and counts the others.
func named(all []string) string {
	if len(all) < 3 {
		return strings.Join(all, " and ")
	}
	return fmt.Sprintf("%s and %d others", all[0], len(all)-1)
}

// String names the relatives in a line, or says that there are none.
func (k *Kin) String() string {
	text := fmt.Sprintf("it behaves most like %s (%d%% alike)", k.Nearest, k.Percent)
	switch len(k.Near) {
	case 0:
		return fmt.Sprintf("no family of the corpus is near; the nearest is %s (%d%% alike)",
			k.Nearest, k.Percent)
	case 1:
		return text
	}
	return text + ", then like " + named(k.Near[1:])
}

// Listing is the line of the template's relatives and the differences below it; "" of nil.
func (k *Kin) Listing() string {
	if k == nil {
		return ""
	}
	return strings.Join(append([]string{k.String()}, k.Differences...), "\n  ") + "\n"
}

// Value is the listing as JSON; null of nil.
func (k *Kin) Value() ordered.Value {
	text, err := json.Marshal(k)
	if err != nil {
		panic(err) // it has nothing but texts and a number
	}
	return ordered.MustParse(string(text))
}

// Edit tells what an edit does to the differences from the nearest relative of the old revision:
// nothing where it keeps them all, or there was none.
func Edit(was, is subject.Source) []string {
	old, now := Find(was), Find(is)
	if old == nil || now == nil || len(old.Near) == 0 {
		return nil
	}
	after := now.mine.differences(old.Nearest)
	if slices.Equal(old.Differences, after) {
		return nil
	}
	after = slices.DeleteFunc(after, func(line string) bool {
		return slices.Contains(old.Differences, line)
	})
	return append([]string{fmt.Sprintf("relatives: before, %s; now, %s; %d new differences", old,
		now, len(after))}, after...)
}

// Evidence is a line that says what the relatives of a template do with a part of an input that it
// loses: the leaf at a path, or the feature of that name in package sent. It is "" where the fixed
// requests show no such loss.
func Evidence(s *probe.Subject, in chattemplate.Input, what string) string {
	t := prompts.Look(s, in)
	for _, l := range t.Leaves() {
		if l.Path == what {
			what = sortOf(t, l)
		}
	}
	k := of.Of(s)
	if k == nil || k.mine[what] != lost && k.mine[what] != partly {
		return ""
	}
	writes := slices.DeleteFunc(slices.Clone(k.Near), func(family string) bool {
		return known()[family][what] != written
	})
	if len(writes) == 0 {
		return ""
	}
	return "\nsimilar templates write it: " + named(writes)
}
