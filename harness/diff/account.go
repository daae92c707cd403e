package diff

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/harness/check/fact/markup"
	"github.com/goassay/assay/harness/conversation"
	"github.com/goassay/assay/harness/report"
)

// flaw is what an edit does to a part of a request, or to what stands around it.
type flaw uint8

const (
	none      flaw = iota
	lost           // a value is no longer written
	doubled        // it is written once more
	respelled      // it is written in other letters
	moved          // it stands elsewhere
	framed         // around it stands another marker, end, separator or header, or another gap
	ended          // after the last value stands other text
	spaced         // around it stands other white space
	condition      // fixed text is written for other requests than before
	flaws
)

var flawTexts = [...]string{"", "%s is no longer written", "%s is written once more",
	"%s is written in other letters", "%s stands elsewhere", "other text stands around %s",
	"%s has changed", "other white space stands around %s", "%q is written for other requests"}

// change is a flaw in the prompt of a request.
type change struct {
	flaw
	of  string // the path of the value, or the text
	off int    // in the new prompt
}

// value is a value of a request in a prompt.
type value struct {
	path, text string
	from, to   int  // without the white space that it begins or ends with
	padded     bool // it has some
	python     bool // null, or a list or an object as Python writes it, which no client means
}

// account has the values of a request in the order in which they stand in its prompt.
type account struct {
	prompt string
	values []value
	open   bool // the prompt ends with the start of an answer
}

// newAccount makes the account of a rendering. Values of one path with white space between them
// are one.
func newAccount(o chattemplate.Observation, open bool) account {
	a := account{prompt: o.String, open: open}
	i := -1
	for from, r := range o.All() {
		to := from + r.Len
		i++
		text := strings.TrimSpace(o.String[from:to])
		if r.Role != jinja.FromValue && r.Role != jinja.FromKey || text == "" ||
			chattemplate.IsOwn(r.Origin) {
			continue
		}
		from += strings.Index(o.String[from:to], text)
		v := value{path: r.Path, text: text, from: from, to: from + len(text),
			padded: len(text) < r.Len}
		v.python = text == "null" && strings.HasPrefix(r.Path, "messages[") ||
			r.Codec == jinja.Python && (text == "None" ||
				slices.ContainsFunc(o.Runs[max(i-1, 0):min(i+2, len(o.Runs))],
					func(r jinja.Run) bool {
						return r.Role == jinja.Structure && r.Codec == jinja.Python
					}))
		if n := len(a.values); n > 0 && a.values[n-1].path == v.path && r.Role == jinja.FromValue &&
			strings.TrimSpace(a.prompt[a.values[n-1].to:v.from]) == "" {
			last := &a.values[n-1]
			last.to, last.text = v.to, a.prompt[last.from:v.to]
			last.padded = last.padded || v.padded
			continue
		}
		a.values = append(a.values, v)
	}
	return a
}

// count counts the values of an account with a text, and those that have the path as well.
func (a account) count(v value) (text, same int) {
	for _, o := range a.values {
		if o.text == v.text {
			text++
			if o.path == v.path {
				same++
			}
		}
	}
	return text, same
}

// compare finds what the edit does to the parts of a request. writes reports whether a revision,
// the old one or the new one, writes a text for some request.
func compare(was, is account, writes func(old bool, text string) bool) []change {
	var all []change
	i, j := 0, 0
	pairs := report.Common(was.values, is.values,
		func(a, b value) bool { return a.text == b.text })
	for _, pair := range append(pairs, [2]int{len(was.values), len(is.values)}) {
		for _, v := range was.values[i:pair[0]] {
			all = append(all, change{left(v, was, is), v.path, is.start(j)})
		}
		for _, v := range is.values[j:pair[1]] {
			all = append(all, change{came(v, was, is), v.path, v.from})
		}
		near := was.near(i)
		if i == pair[0] && !slices.ContainsFunc(near, func(v value) bool { return v.python }) {
			last := pair[1] == len(is.values)
			f, text := gap(was.own(i, pair[0]), is.own(j, pair[1]), last, writes)
			if f == spaced && slices.ContainsFunc(slices.Concat(near, is.near(j), is.near(pair[1])),
				func(v value) bool { return v.padded }) {
				f = none
			} else if f == framed && last {
				f, text = ended, "the end of the prompt"
			}
			all = append(all, change{f, text, is.start(j)})
		}
		i, j = pair[0]+1, pair[1]+1
	}
	return all
}

// near are the values beside a gap.
func (a account) near(i int) []value { return a.values[max(i-1, 0):min(i+1, len(a.values))] }

// start is where the gap before a value begins.
func (a account) start(i int) int {
	if i == 0 {
		return 0
	}
	return a.values[i-1].to
}

// hole stands for a value that only one prompt has.
const hole = "\x00"

// own is the template's own text from the gap before a value to that before another one. White
// space at the start of a prompt divides nothing, nor does that at its end where no answer starts.
func (a account) own(i, j int) string {
	first := a.start(i)
	var b strings.Builder
	for ; i < j; i++ {
		b.WriteString(a.prompt[a.start(i):a.values[i].from] + hole)
	}
	to := len(a.prompt)
	if j < len(a.values) {
		to = a.values[j].from
	} else if !a.open {
		to = max(a.start(j), len(strings.TrimRight(a.prompt, "\n ")))
	}
	if b.WriteString(a.prompt[a.start(j):to]); first == 0 {
		return strings.TrimLeft(b.String(), "\n ")
	}
	return b.String()
}

// left tells what became of a value that is not in the place where the old revision has it.
func left(v value, was, is account) flaw {
	texts, same := is.count(v)
	wasTexts, wasSame := was.count(v)
	switch {
	case v.python, same == 0 && texts >= wasTexts, 0 < same && same < wasSame:
		return none // it was none, has another name, or was doubled
	case same > 0:
		return moved
	case strings.Contains(is.prompt, v.text), path.Ext(v.path) == ".type",
		slices.ContainsFunc(is.values, func(o value) bool { return o.path == v.path }):
		return respelled
	}
	return lost
}

// came tells what a value is that the new revision alone has in a place. One that the old revision
// left out is none, but for what nobody means.
func came(v value, was, is account) flaw {
	_, before := was.count(v)
	_, now := is.count(v)
	switch {
	case 0 < before && before < now && strings.Contains(v.text, " "):
		return doubled
	case before == 0 && v.python:
		return respelled
	}
	return none
}

var (
	// sentences are the words of instructions: three in a row at least.
	sentences = regexp.MustCompile(`[\pL\pN'][^\n<>{}\[\]"` + hole + `]*?(?: [^\s<>{}\[\]"` + hole +
		`]+){2,}|[\p{Han}\p{Hiragana}\p{Katakana}，。、：；]{8,}`)
	blanks = regexp.MustCompile(`\s+`)
	pieces = regexp.MustCompile(`<[^<>\s]+>|[\pL\pN_]+|\S`)
)

// gap compares the template's own text between two values. Other sentences are no flaw, where the
// old ones are gone and the new ones are new; nor is more white space, nor new words alone, nor,
// before the last value, an empty pair of markers that the old revision writes elsewhere: vendors
// add it to older answers, so that a prompt goes on as the one before.
func gap(was, is string, last bool, writes func(old bool, text string) bool) (flaw, string) {
	frame := func(own string) string {
		return blanks.ReplaceAllString(sentences.ReplaceAllString(own, ""), " ")
	}
	old, now := frame(was), frame(is)
	if strings.Contains(is, hole) { // all that stood there must stand there still
		all := pieces.FindAllString(old, -1)
		for _, piece := range pieces.FindAllString(now, -1) {
			if len(all) > 0 && all[0] == piece {
				all = all[1:]
			}
		}
		if len(all) > 0 {
			return framed, "the parts of the request"
		}
		return none, ""
	}
	if old != now {
		at, more := report.Parting(was, is), len(is)-len(was)
		if more > 0 && is[at+more:] == was[at:] {
			if pair := pairIn(is, at, more); pair != "" && !last && writes(true, pair) {
				return none, ""
			}
			added := strings.TrimSpace(is[at : at+more])
			if added != "" && !strings.ContainsAny(added, "<>[]{}") && !writes(true, added) {
				return none, ""
			}
		}
		return framed, "the parts of the request"
	}
	var fixed [2][]string
	for i, own := range [...]string{was, is} {
		fixed[i] = sentences.FindAllString(own, -1)
		for _, text := range fixed[i] {
			if !strings.Contains([...]string{is, was}[i], text) && writes(i == 1, text) {
				return condition, text
			}
		}
	}
	if slices.Equal(fixed[0], fixed[1]) && was != is {
		return spaced, "the parts of the request"
	}
	return none, ""
}

// pairIn returns the bytes that were added to a text at an offset, where they are a marker and its
// end with nothing but white space between; else "". Where the same text could have been added
// earlier, as in <b></b><b>, it looks there, too.
func pairIn(text string, at, more int) string {
	for ; ; at-- {
		added := strings.TrimSpace(text[at : at+more])
		if m := markup.In(added); len(m) == 2 && m[0].Side != markup.Closing && m[0].At == 0 &&
			m[1].Side == markup.Closing && m[1].To == len(added) && m[0].Key == m[1].Key &&
			strings.TrimSpace(added[m[0].To:m[1].At]) == "" {
			return added
		}
		if at == 0 || text[at-1] != text[at+more-1] {
			return ""
		}
	}
}

// flawed are the requests that have a flaw.
type flawed struct {
	first talk
	change
	count int
}

// has reports whether the account has what each message of its request says: its content, and a
// call where there are some.
func (a account) has(in chattemplate.Input) bool {
	return !slices.ContainsFunc(conversation.Leaves(in), func(l conversation.Leaf) bool {
		text := strings.TrimSpace(l.Text)
		called := l.Part == conversation.CallName && l.Index == 0
		return (called || l.Part == conversation.Content) &&
			!(strings.Contains(text, " ") && strings.Contains(a.prompt, text)) &&
			!slices.ContainsFunc(a.values,
				func(v value) bool { return strings.HasPrefix(v.path, l.Path) })
	})
}

// findFlaws compares the prompts of all requests. Where the edit ends findings of the checks and
// brings none, it mends a fault of the old revision: it may write another frame then, and the
// values in other places and letters, and takes none away.
func (p *pair) findFlaws() (all [flaws]flawed) {
	mends := p.mends()
	for _, t := range p.talks() {
		if !t.differs() {
			continue
		}
		was, err1 := p.was.ChatTemplate().Observe(t.in)
		is, err2 := p.is.ChatTemplate().Observe(t.in)
		if err1 != nil || err2 != nil {
			continue
		}
		old, now := newAccount(was, t.in.Generate), newAccount(is, t.in.Generate)
		seen := [flaws]bool{none: true}
		if now.has(t.in) && !old.has(t.in) { // the old frames are no reference
			seen[framed], seen[ended], seen[spaced], seen[condition] = true, true, true, true
		}
		for _, c := range compare(old, now, p.writes) {
			if c.flaw == ended && !t.in.Generate {
				c.flaw, c.of = framed, "the last part of the request"
			}
			if seen[c.flaw] || mends && c.flaw != lost && c.flaw != doubled {
				continue
			}
			seen[c.flaw] = true
			f := &all[c.flaw]
			if f.count++; f.count == 1 {
				f.first, f.change = t, c
			}
		}
	}
	return all
}

// mends reports whether the edit ends findings of the checks and brings none.
func (p *pair) mends() bool {
	ended := false
	for _, n := range brought(p.findings()) {
		if n > 0 {
			return false
		}
		ended = ended || n < 0
	}
	return ended
}

// writes reports whether a revision writes a text for some request.
func (p *pair) writes(old bool, text string) bool {
	return slices.ContainsFunc(p.talks(), func(t talk) bool {
		return old && strings.Contains(t.was, text) || !old && strings.Contains(t.is, text)
	})
}

// flawsOf reports flaws, each in the first request that has it.
func flawsOf(which ...flaw) func(*pair, finder) {
	return func(p *pair, find finder) {
		all := p.flaws()
		for _, f := range which {
			if of := all[f]; of.count > 0 {
				find(p.wroteFor(of.first.in, of.off), flawTexts[f]+
					", in %d requests, the first of them:\n%s:\n%s", of.of, of.count, of.first.name,
					excerpt(of.first.was, of.first.is))
			}
		}
	}
}
