package train

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja/edit"
)

// label is the kind of text that a part of a template writes.
type label uint8

const (
	nothing label = 0
	own     label = 1 // text that the model does not write
	model   label = 2
	held    label = 4 // text that the generation prompt has already, in this rendering
	mixed         = own | model
)

// part holds the texts that one {{ tag }} or one stretch of the template's text has written in all
// renderings.
type part struct {
	label
	bytes []label  // by the offset in its text, as far as all its texts agree in length
	texts []sample // its texts, where they are mixed
}

// sample is one text that a part wrote: the part before the model's text, that text, and the part
// after.
type sample struct{ before, text, after string }

// plan places the tags in a template.
type plan struct {
	*edit.Template
	order []*edit.Node // the parts, by their place
	parts map[*edit.Node]*part
	edits []edit.Edit
}

// newPlan reads the texts that the parts of a template write.
func newPlan(t *engine.Template, inputs []chattemplate.Input, loose bool) (*plan, error) {
	tree, err := edit.Parse(t.ChatTemplate().Source)
	if err != nil {
		return nil, err
	}
	p := &plan{Template: tree, parts: map[*edit.Node]*part{}}
	for n := range within(tree.Body) {
		if n.Is(edit.Output) {
			p.order = append(p.order, n.Parts...)
		}
	}
	slices.SortFunc(p.order,
		func(a, b *edit.Node) int { return cmp.Compare(a.Print.From, b.Print.From) })
	for _, in := range inputs {
		r, err := Render(t, in)
		if err != nil {
			continue // the template refuses it, or writes no header there
		}
		if loose {
			r.Held = append(r.Held, r.Headers...)
		}
		p.note(r)
	}
	for _, known := range p.parts {
		known.label = known.label.settle()
		for i := range known.bytes {
			known.bytes[i] = known.bytes[i].settle()
		}
	}
	return p, nil
}

// settle decides about text that the generation prompt has in some renderings: where the model
// writes it in others it is the model's, since tags cannot tell.
func (l label) settle() label {
	switch {
	case l&held == 0:
		return l
	case l&model != 0:
		return l &^ held
	}
	return l&^held | own
}

// within yields statements, each before those in its bodies.
func within(list []*edit.Node) iter.Seq[*edit.Node] {
	return func(yield func(*edit.Node) bool) {
		for _, n := range list {
			if !yield(n) {
				return
			}
			for _, body := range n.Written() {
				for inner := range within(body) {
					if !yield(inner) {
						return
					}
				}
			}
		}
	}
}

// note takes in the texts of the parts in a rendering.
func (p *plan) note(r *Rendering) {
	labels := make([]label, len(r.String))
	for i := range labels {
		labels[i] = own
	}
	for _, s := range r.Written {
		for i := s.From; i < s.To; i++ {
			labels[i] = model
		}
	}
	for _, s := range r.Held {
		for i := s.From; i < s.To; i++ {
			labels[i] = held
		}
	}
	for off := 0; off < len(r.String); {
		w, ok := r.Trace.PrintAt(off)
		if !ok {
			return
		}
		off = w.To
		p.wrote(w.Off, labels[w.From:w.To], r.String[w.From:w.To])
	}
}

// wrote takes in a part's text. Literals that follow each other are written at once.
func (p *plan) wrote(off int, labels []label, text string) {
	i, _ := slices.BinarySearchFunc(p.order, off, func(x *edit.Node, off int) int {
		return cmp.Compare(x.Print.To, off+1)
	})
	for ; i < len(p.order) && text != ""; i++ {
		x, n := p.order[i], len(text)
		literal := x.IsLiteral()
		if literal {
			n = min(n, len(x.Word))
		}
		if p.parts[x] == nil {
			p.parts[x] = new(part)
		}
		p.parts[x].add(labels[:n], text[:n])
		if labels, text = labels[n:], text[n:]; !literal {
			return
		}
	}
}

func (p *part) add(labels []label, text string) {
	all := nothing
	for _, l := range labels {
		all |= l
	}
	p.label |= all
	if p.bytes == nil {
		p.bytes = slices.Clone(labels)
	} else if len(p.bytes) != len(labels) {
		p.bytes = p.bytes[:0]
	}
	for i := range p.bytes {
		p.bytes[i] |= labels[i]
	}
	from := slices.Index(labels, model)
	if from < 0 {
		p.texts = append(p.texts, sample{before: text})
		return
	}
	to := len(labels)
	for labels[to-1] != model {
		to--
	}
	p.texts = append(p.texts, sample{text[:from], text[from:to], text[to:]})
}

// unit is a part of an output or another statement, in a list of statements.
type unit struct {
	edit.Span
	node  *edit.Node
	label label
	fence bool // tags must not enclose it
}

// units returns the parts of a list of statements.
func (p *plan) units(list []*edit.Node) (all []unit) {
	for _, n := range list {
		if !n.Is(edit.Output) {
			all = append(all, unit{n.Span, n, p.labelOf(n), fenced(n, false)})
			continue
		}
		for _, x := range n.Parts {
			u := unit{Span: x.Print, node: x}
			if known := p.parts[x]; known != nil {
				u.label = known.label
			}
			if u.From < u.To {
				all = append(all, u)
			}
		}
	}
	return all
}

// labelOf returns the label of a statement's text.
func (p *plan) labelOf(n *edit.Node) (all label) {
	for _, body := range n.Written() {
		for _, u := range p.units(body) {
			all |= u.label
		}
	}
	return all
}

// fenced reports whether tags must not enclose a statement: their body is a function of its own, so
// that a variable that it sets is lost after it, and a loop around it cannot be left.
func fenced(n *edit.Node, inLoop bool) bool {
	switch n.Kind {
	case edit.Set:
		return !n.Target.Is(edit.Field) && !inLoop
	case edit.Capture, edit.Leave:
		return !inLoop
	case edit.Macro, edit.Block, edit.Loaded, edit.Import:
		return true
	}
	in := func(below *edit.Node) bool { return fenced(below, inLoop || n.Is(edit.For)) }
	return slices.ContainsFunc(n.Written(),
		func(body []*edit.Node) bool { return slices.ContainsFunc(body, in) })
}

// The tags are written without a "+": transformers (render_jinja_template) and TRL
// (has_generation_markers) look for the opening one with a pattern that knows no such sign,
// \{%-?\s*generation\s*-?%\}. So where a tag would take white space away, a guard keeps it.
const (
	openTag = " generation "
	shutTag = " endgeneration "
	guard   = "{{ '' }}" // writes nothing, and neither strips nor trims
)

// place puts tags around the model's text in a list of statements. next is where the tag stands
// that follows the list, len(src) where none does.
func (p *plan) place(list []*edit.Node, next int) {
	all := p.units(list)
	for i := 0; i < len(all); i++ {
		u := all[i]
		if u.label != model || u.fence {
			p.inside(u)
			continue
		}
		last := i
		for j := i + 1; j < len(all) && !all[j].fence && all[j].label&own == 0; j++ {
			if all[j].label == model {
				last = j
			}
		}
		p.before(u)
		after := next
		if last+1 < len(all) {
			after = all[last+1].From
		}
		p.after(all[last], after)
		i = last
	}
}

// inside places the tags in a statement that is not the model's as a whole.
func (p *plan) inside(u unit) {
	if u.node.IsExpr() || u.label&model == 0 {
		return
	}
	i := 1
	for _, body := range u.node.Written() {
		if body == nil {
			continue
		}
		next := u.To
		if i < len(u.node.Tags) {
			next = u.node.Tags[i].From
		}
		p.place(body, next)
		i++
	}
}

// before puts the opening tag before a unit. The white space before it is treated as it was.
func (p *plan) before(u unit) {
	p.edits = append(p.edits, edit.Insert(u.From,
		p.leftTag(u.From, p.Sign(u.From), openTag)+"%}"+p.lineGuard(u.From)))
}

// leftTag returns the beginning of a tag that treats the white space before a place as a sign says.
func (p *plan) leftTag(at int, sign, name string) string {
	if sign != "+" {
		return "{%" + sign + name
	}
	rest := strings.TrimRightFunc(p.Text[:at], func(r rune) bool {
		return r != '\n' && r != '\r' && (unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f)
	})
	if len(rest) < at && (rest == "" || strings.ContainsAny(rest[len(rest)-1:], "\r\n")) {
		return guard + "{%" + name
	}
	return "{%" + name
}

// lineGuard returns the guard where a line feed stands at a place: a tag before it would take it.
func (p *plan) lineGuard(at int) string {
	if at < len(p.Text) && (p.Text[at] == '\n' || p.Text[at] == '\r') {
		return guard
	}
	return ""
}

// after puts the closing tag after a unit; next is where the tag after it stands.
func (p *plan) after(u unit, next int) {
	at, left, right := u.To, "", ""
	if u.node.Is(edit.Data) {
		left = "+"
		if at < next && next < len(p.Text) { // white space that the next tag strips
			at, left = next, p.Sign(next)
		}
	} else {
		switch end := p.Text[:at]; {
		case strings.HasSuffix(end, "-}}"), strings.HasSuffix(end, "-%}"):
			right = "-%}"
		case strings.HasSuffix(end, "+%}"), strings.HasSuffix(end, "}}"):
			right = "%}" + p.lineGuard(at)
		}
	}
	if right == "" {
		right = "%}"
	}
	p.edits = append(p.edits, edit.Insert(at, p.leftTag(at, left, shutTag)+right))
}

// Splitting parts that write the model's text together with other text.

// split rewrites one round of mixed parts, and reports whether any could be.
func (p *plan) split() bool {
	for _, x := range p.order {
		known := p.parts[x]
		if known == nil || known.label != mixed {
			continue
		}
		if e, ok := p.splitPart(x, known); ok {
			p.edits = append(p.edits, e...)
		}
	}
	return len(p.edits) > 0
}

// mixed returns the parts that write the model's text together with other text.
func (p *plan) mixed() (list []*edit.Node) {
	for _, x := range p.order {
		if known := p.parts[x]; known != nil && known.label == mixed {
			list = append(list, x)
		}
	}
	return list
}

func (p *plan) splitPart(x *edit.Node, known *part) ([]edit.Edit, bool) {
	left, right := edit.Signs(p.Text[x.Print.From:x.Print.To])
	var pieces []string
	switch x.Kind {
	case edit.Data:
		return p.splitData(x, known)
	case edit.Choice:
		if x.Source[0] == '(' {
			break
		}
		text := "{%" + cmp.Or(left, "+") + " if " + x.Test.Source + " +%}{{ " + x.X.Source + " }}"
		if x.Y != nil {
			text += "{%+ else +%}{{ " + x.Y.Source + " }}"
		}
		text += "{%+ endif " + cmp.Or(right, "+") + "%}"
		return []edit.Edit{x.Print.Replaced(text)}, true
	case edit.Text:
		at := 0
		for _, cut := range append(known.cuts(len(x.Word)), len(x.Word)) {
			pieces = append(pieces, edit.Quote(x.Word[at:cut], "'"))
			at = cut
		}
	case edit.Concat, edit.Math:
		p.operands(x, &pieces)
	}
	if len(pieces) < 2 {
		return nil, false
	}
	text := "{{" + left + " " + strings.Join(pieces, " }}{{ ") + " " + right + "}}"
	return []edit.Edit{x.Print.Replaced(text)}, true
}

// operands flattens a chain of + and ~. An operand of + that follows another one stays an operand,
// so that a value that is no text fails as it did.
func (p *plan) operands(x *edit.Node, out *[]string) {
	bare := !strings.HasPrefix(x.Source, "(")
	switch {
	case x.Is(edit.Concat) && bare:
		for _, item := range x.Parts {
			p.operands(item, out)
		}
		return
	case x.Is(edit.Math, "+") && bare && !x.X.Is(edit.Text, ""): // else it was split before
		n := len(*out)
		p.operands(x.X, out)
		if len(*out) == n+1 && !x.X.Is(edit.Text) && !x.Y.Is(edit.Text) {
			(*out)[n] = "'' + " + (*out)[n]
		}
		if len(*out) > n {
			piece := x.Y.Source
			if !x.Y.Is(edit.Text) {
				piece = "'' + " + piece
			}
			*out = append(*out, piece)
			return
		}
	}
	*out = append(*out, x.Source)
}

// cuts returns where a text of a constant length goes over from one label to another; nil where it
// is not always at the same place.
func (p *part) cuts(n int) (cuts []int) {
	if len(p.bytes) != n || slices.Contains(p.bytes, mixed) {
		return nil
	}
	for i := 1; i < n; i++ {
		if p.bytes[i] != p.bytes[i-1] {
			cuts = append(cuts, i)
		}
	}
	return cuts
}

// splitData cuts the template's own text with an empty output, which writes nothing.
func (p *plan) splitData(x *edit.Node, known *part) (edits []edit.Edit, ok bool) {
	at, off := x.Print.From, 0 // in the source, where \r\n is two bytes, and in the text
	for _, cut := range known.cuts(len(x.Word)) {
		for ; off < cut; off++ {
			if strings.HasPrefix(p.Text[at:], "\r\n") {
				at++
			}
			at++
		}
		edits = append(edits, edit.Insert(at, guard))
	}
	return edits, len(edits) > 0
}

// byRole gives the answers a branch of their own around the mixed units of a loop over messages.
func (p *plan) byRole(list []*edit.Node, variable string) bool {
	all := p.units(list)
	first, last := -1, -1
	for i, u := range all {
		if u.label == mixed && (u.node.IsExpr() || variable != "" && u.node.Is(edit.For)) {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		for _, u := range all {
			if u.node.IsExpr() || u.label != mixed {
				continue
			}
			name := variable
			if variable == "" && u.node.Is(edit.For) && u.node.Target.Is(edit.Name) {
				name = u.node.Target.Word
			}
			for _, body := range u.node.Written() {
				if p.byRole(body, name) {
					return true
				}
			}
		}
		return false
	}
	test := variable + "['role'] == 'assistant'"
	if variable == "" || p.inBranch(all[first].From, test) {
		return false
	}
	for _, u := range all[first : last+1] {
		if u.fence {
			return false
		}
	}
	from, to := all[first].From, all[last].To
	body := p.Text[from:to]
	p.edits = append(p.edits, edit.Edit{From: from, To: to,
		Text: "{%" + p.Sign(from) + " if " + test + " +%}" + body + "{%+ else +%}" + body +
			"{%+ endif " + p.rightSign(to) + "%}"})
	return true
}

// inBranch reports whether a place is in a branch for answers that was made here.
func (p *plan) inBranch(at int, test string) bool {
	for n := range within(p.Body) {
		if n.Is(edit.If) && n.From < at && at < n.To &&
			strings.Contains(p.Text[n.From:n.Tags[0].To], " if "+test+" +%}") {
			return true
		}
	}
	return false
}

// rightSign returns the sign with which a tag that ends at a place treats the line feed after it.
func (p *plan) rightSign(to int) string {
	switch end := p.Text[:to]; {
	case strings.HasSuffix(end, "-}}"), strings.HasSuffix(end, "-%}"):
		return "-"
	case strings.HasSuffix(end, "%}") && !strings.HasSuffix(end, "+%}"):
		return ""
	}
	return "+"
}

// cutOut prints a mixed expression in three: the part before the model's text, that text, and the
// part after. It takes a text that always ends the part before, and one that always begins the part
// after.
func (p *plan) cutOut(x *edit.Node, known *part, header string) (edit.Edit, bool) {
	if x.IsLiteral() {
		return edit.Edit{}, false
	}
	after, seen := "", false
	bare := true // nothing precedes
	for _, s := range known.texts {
		if s.text == "" {
			return edit.Edit{}, false
		}
		if s.before != "" {
			bare = false
		}
		if seen && s.after != after {
			return edit.Edit{}, false
		}
		after, seen = s.after, true
	}
	for _, s := range known.texts {
		if !bare &&
			(!strings.HasSuffix(s.before, header) || strings.Count(s.before, header) != 1 ||
				header == "") {
			return edit.Edit{}, false
		}
	}
	left, right := edit.Signs(p.Text[x.Print.From:x.Print.To])
	value := "(" + x.Source + ")"
	text := value
	out := "{{" + left + " "
	if !bare {
		out += fmt.Sprintf("%s.split(%[2]s, 1)[0] + %[2]s }}{{ ", value, edit.Quote(header, "'"))
		text = fmt.Sprintf("%s.split(%s, 1)[1]", value, edit.Quote(header, "'"))
	}
	if after == "" {
		return x.Print.Replaced(out + text + " " + right + "}}"), !bare
	}
	out += fmt.Sprintf("%s[:-%d] }}{{ %s %s}}", text, len([]rune(after)), edit.Quote(after, "'"),
		right)
	return x.Print.Replaced(out), true
}
