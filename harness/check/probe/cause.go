package probe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/report"
)

// The bounds of the search for a cause. Of the 786 templates of the Hub the largest decides some
// 900 times on the conversations that show faults.
const (
	mostTurned  = 400     // conditions that are turned
	mostWritten = 4 << 20 // bytes of the prompts together
)

// Cause is where the template decides on the fault of a prompt: the condition whose other outcome,
// at one point of the render, mends it. Of several it is the one that changes least of the prompt,
// and of those the last. Where there is none, it is the place that shows the damage, which else
// stands beside it.
func (r Rendering) Cause(damage Where, mended func(prompt string) bool) Where {
	if site := r.decision(nil, mended); site >= 0 {
		at := Offset(r.Program.Sites()[site].Test).Shown(r.In).Beside("printed", damage)
		at.decides = true
		return at
	}
	return damage
}

// Instead is the cause of a prompt that goes on otherwise than with a text from a byte on, white
// space apart.
func (r Rendering) Instead(at int, want string, damage Where) Where {
	const enough = 16 // bytes that tell a text from others
	want = strings.TrimLeft(want, " \n")
	want = want[:min(len(want), enough)]
	return r.Cause(damage, func(prompt string) bool {
		rest, same := strings.CutPrefix(prompt, r.Text[:at])
		return same && strings.HasPrefix(strings.TrimLeft(rest, " \n"), want)
	})
}

// decision returns the site of that condition, an index of the template's sites; -1: there is none.
// It is none whose place but is true of; nil is true of none.
func (r Rendering) decision(but func(condition int) bool, mended func(prompt string) bool) int {
	best, least, written := -1, 0, 0
	if r.Program == nil || mended(r.Text) {
		return best
	}
	sites := r.Program.Sites()
	for turn := 1; turn <= mostTurned && written <= mostWritten; turn++ {
		c := jinja.Coverage{Turn: turn}
		prompt, err := r.Program.Cover(r.In, &c, nil)
		if c.Turned < 0 {
			break
		}
		written += len(prompt)
		if err != nil || !mended(prompt) || but != nil && but(sites[c.Turned].Test) {
			continue
		}
		if size := change(r.Text, prompt); best < 0 || size <= least {
			best, least = c.Turned, size
		}
	}
	return best
}

// change is how many bytes two texts do not share at their beginning and their end.
func change(a, b string) int {
	from := len(source.CommonPrefix(a, b))
	a, b = a[from:], b[from:]
	return len(a) + len(b) - 2*len(source.CommonSuffix(a, b))
}

// Lost is the place where the value at a path of the input got lost: the condition that keeps it
// from the prompt, or the expression that takes a part of the list which it is in. Where there is
// neither, it is where the template last looked at the value or at its neighbours.
func (r Rendering) Lost(path, text string) Where {
	if r.Program == nil {
		return Nowhere
	}
	trace := r.Program.Follow(r.In)
	near := Nowhere
	if pos, ok := trace.Nearest(path); ok {
		near = Offset(pos)
	}
	near = near.Shown(r.In)
	gone := !r.Has(text)
	if gone {
		near = near.Losing(path)
		near.seen = fmt.Sprintf("lost: %s (%s)", report.Quote(text, 0), path)
	}
	extents := edit.Read(r.Program.Source)
	if gone {
		near.note = "underlined is where the template last looks at it, or at what is next to it"
	}
	if off, ok := r.narrowed(extents, trace, path); ok {
		near.past = off + 1
		near.note = "underlined is where a part of the list is taken"
		return near
	}
	role := ""
	for i, m := range r.In.Messages {
		of := fmt.Sprintf("messages[%d]", i)
		if !strings.HasPrefix(path, of) {
			continue
		}
		role = m.At("role").Text()
		asked := places(trace, func(name string) bool { return name == of+".role" })
		if off, ok := extents.Unmatched(asked, role); ok && gone && !r.calls(m) {
			near.past = off + 1
			near.note = "no branch is for this role; the last test is underlined"
			return near
		}
	}
	// A condition that only asks who speaks is no cause: the branch of the role is wrong.
	choice := func(condition int) bool { return role != "" && extents.Chooses(condition, role) }
	site := r.decision(choice, func(prompt string) bool {
		before, _, written := strings.Cut(prompt, text)
		return written && (role == "" || !strings.HasSuffix(before, "'content': '")) // as a text
	})
	if site >= 0 {
		near.past, near.decides = r.Program.Sites()[site].Test+1, true
		near.note = "underlined is the condition that keeps it out"
	}
	return near
}

// Recognised is another place moved to the first test that finds the role of the first message in
// this prompt to be what it is.
func (r Rendering) Recognised(lost Where) Where {
	const first = "messages[0].role"
	asked := places(r.Program.Follow(r.In), func(name string) bool { return name == first })
	role := r.In.Messages[0].At("role").Text()
	for n := range edit.Read(r.Program.Source).All() {
		if n.Is(edit.Compare) && n.Has(edit.Text, role) && n.Holds(asked) {
			lost.past, lost.note = n.Off+1, "underlined is the test for a "+role+" message"
			break
		}
	}
	return lost
}

// calls reports whether a tool call of a message is in the prompt.
func (r Rendering) calls(m ordered.Value) bool {
	return slices.ContainsFunc(m.At("tool_calls").Items(), func(call ordered.Value) bool {
		return r.Has(call.At("function").At("name").Text())
	})
}

// operand is the part of a sum at a place that wrote a byte of a prompt; the place where it is no
// sum, or the byte was computed.
func (r Rendering) operand(o chattemplate.Observation, place, off int) int {
	off = min(off, len(o.String)-1)
	run := runAt(o, off)
	read := places(r.Program.Follow(r.In), func(name string) bool {
		return run.Role != jinja.Literal && name != "" && name == run.Path
	})
	return edit.Read(r.Program.Source).Operand(place, func(x *edit.Node) bool {
		return x.Holds(read) || run.Role == jinja.Literal && around(o.String, x.Content(), off)
	})
}

// runAt is the run of a prompt that a byte is in.
func runAt(o chattemplate.Observation, off int) (run jinja.Run) {
	var from int
	for from, run = range o.All() {
		if off < from+run.Len {
			break
		}
	}
	return run
}

// around reports whether an offset of a text lies in a part of it.
func around(text, part string, off int) bool {
	from := max(0, off-len(part)+1)
	return part != "" && strings.Contains(text[from:min(len(text), off+len(part))], part)
}

// Made is the place that made the value which a variable prints at an offset, where it is no plain
// look-up; else the place that printed it.
func (r Rendering) Made(off int) Where {
	at := r.At(off)
	o, _ := r.Observe()
	run := runAt(o, off)
	read := places(r.Program.Follow(r.In), func(name string) bool {
		return name != "" && (run.Path == "" || strings.HasPrefix(run.Path, name))
	})
	if set, ok := edit.Read(r.Program.Source).Made(at.Off(), read); ok {
		return Offset(set).Shown(r.In).Beside("printed", at)
	}
	return at
}

// narrowed returns where the template takes a part of a list that lacks the item at a path, or the
// item around it, and looks at it nowhere else.
func (r Rendering) narrowed(extents *edit.Template, trace *jinja.Trace, path string) (int, bool) {
	for i, c := range path {
		if c != '[' {
			continue
		}
		list, end := path[:i], i+strings.IndexByte(path[i:], ']')+1
		if looked(trace, path[:end]) || !looked(trace, list) {
			continue
		}
		return extents.Narrowing(places(trace, func(name string) bool {
			return name == list || strings.HasPrefix(name, list+"[")
		}))
	}
	return 0, false
}

// Filtered is the first filter of some names that a value with a text goes through; where there is
// none, the place that writes the prompt at an offset.
func (r Rendering) Filtered(text string, off int, names ...string) Where {
	path := pathOf(r.Program.Vars(r.In), text)
	at := places(r.Program.Follow(r.In), func(name string) bool {
		return name != "" && strings.HasPrefix(path, name)
	})
	if filter, ok := edit.Read(r.Program.Source).Filtering(at, names...); ok {
		return Offset(filter).Shown(r.In).Beside("printed", r.At(off))
	}
	return r.At(off)
}

// places are where the template looks at paths.
func places(trace *jinja.Trace, at func(path string) bool) map[int]bool {
	all := map[int]bool{}
	for p := range trace.Places() {
		if at(trace.Reads()[p.Read].Path) {
			all[p.Off] = true
		}
	}
	return all
}

// looked reports whether the template looks at a path, or at a part of it.
func looked(trace *jinja.Trace, path string) bool {
	for _, r := range trace.Reads() {
		if rest, ok := strings.CutPrefix(r.Path, path); ok && (rest == "" ||
			strings.IndexByte(".[", rest[0]) >= 0) {
			return true
		}
	}
	return false
}
