package probe

import (
	"fmt"
	"strings"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/jinja/edit"
	"github.com/goassay/assay/engine/source"
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
	return r.causeBut(nil, damage, mended)
}

// causeBut is [Rendering.Cause], but that no condition is the cause whose place but is true of; nil
// is true of none.
func (r Rendering) causeBut(but func(condition int) bool, damage Where,
	mended func(prompt string) bool) Where {
	if site := r.decision(but, mended); site >= 0 {
		return Offset(r.Program.Sites()[site].Test).Shown(r.In).Beside("written", damage)
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
func (r Rendering) Lost(path, text string) (at Where) {
	if !r.Has(text) {
		defer func() { at = at.Losing(path) }()
	}
	if r.Program == nil {
		return Nowhere
	}
	trace := r.Program.Follow(r.In)
	near := Nowhere
	if pos, ok := trace.Nearest(path); ok {
		near = Offset(pos)
	}
	extents := edit.Read(r.Program.Source)
	if first, ok := extents.Chain(near.Off()); ok {
		near = Offset(first)
	}
	near = near.Shown(r.In)
	if off, ok := r.narrowed(extents, trace, path); ok {
		return Offset(off).Shown(r.In)
	}
	role := ""
	for i, m := range r.In.Messages {
		if strings.HasPrefix(path, fmt.Sprintf("messages[%d]", i)) {
			role = m.At("role").Text()
		}
	}
	// A condition that only asks who speaks is no cause: the branch of the role is wrong.
	choice := func(condition int) bool { return role != "" && extents.Chooses(condition, role) }
	at = r.causeBut(choice, near,
		func(prompt string) bool { return strings.Contains(prompt, text) })
	at.also = 0 // where it was looked at tells nothing
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
		return Offset(filter).Shown(r.In).Beside("written", r.At(off))
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
