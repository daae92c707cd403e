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
	"github.com/goassay/assay/engine/jinja/syntax"
	"github.com/goassay/assay/engine/source"
)

// edit replaces a stretch of a template.
type edit = syntax.Edit

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
	src   string
	tree  *syntax.Template
	spans *syntax.Spans
	order []syntax.Expr // the parts, by their place
	parts map[syntax.Expr]*part
	edits []edit
}

// newPlan reads the texts that the parts of a template write.
func newPlan(t *engine.Template, inputs []chattemplate.Input, loose bool) (*plan, error) {
	src := t.ChatTemplate().Source
	tree, spans, err := syntax.ParseSpans(source.New(src.Name, src.Text))
	if err != nil {
		return nil, err
	}
	p := &plan{src: src.Text, tree: tree, spans: spans, parts: map[syntax.Expr]*part{}}
	for s := range within(tree.Body) {
		if o, ok := s.(*syntax.Output); ok {
			p.order = append(p.order, o.Parts...)
		}
	}
	slices.SortFunc(p.order, func(a, b syntax.Expr) int {
		return cmp.Compare(spans.Print(a).From, spans.Print(b).From)
	})
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
func within(list []syntax.Stmt) iter.Seq[syntax.Stmt] {
	return func(yield func(syntax.Stmt) bool) {
		for _, s := range list {
			if !yield(s) {
				return
			}
			for _, body := range bodies(s) {
				for inner := range within(body) {
					if !yield(inner) {
						return
					}
				}
			}
		}
	}
}

// bodies returns the lists of statements in a statement, except for those of macros and captures.
func bodies(s syntax.Stmt) [][]syntax.Stmt {
	switch s := s.(type) {
	case *syntax.If:
		all := [][]syntax.Stmt{s.Body}
		for _, e := range s.Elif {
			all = append(all, e.Body)
		}
		return append(all, s.Else)
	case *syntax.For:
		return [][]syntax.Stmt{s.Body, s.Else}
	case *syntax.With:
		return [][]syntax.Stmt{s.Body}
	case *syntax.Block:
		return [][]syntax.Stmt{s.Body}
	case *syntax.Autoescape:
		return [][]syntax.Stmt{s.Body}
	case *syntax.Generation:
		return [][]syntax.Stmt{s.Body}
	}
	return nil
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
	i, _ := slices.BinarySearchFunc(p.order, off, func(x syntax.Expr, off int) int {
		return cmp.Compare(p.spans.Print(x).To, off+1)
	})
	for ; i < len(p.order) && text != ""; i++ {
		x, n := p.order[i], len(text)
		c, literal := x.(*syntax.Const)
		if literal {
			n = min(n, len(c.Text))
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
	span  syntax.Span
	label label
	part  syntax.Expr // of an output
	stmt  syntax.Stmt // else
	fence bool        // tags must not enclose it
}

// units returns the parts of a list of statements.
func (p *plan) units(list []syntax.Stmt) (all []unit) {
	for _, s := range list {
		o, ok := s.(*syntax.Output)
		if !ok {
			u := unit{span: p.spans.Stmt(s), stmt: s, fence: fenced(s, false)}
			u.label = p.labelOf(s)
			all = append(all, u)
			continue
		}
		for _, x := range o.Parts {
			u := unit{span: p.spans.Print(x), part: x}
			if known := p.parts[x]; known != nil {
				u.label = known.label
			}
			if u.span.From < u.span.To {
				all = append(all, u)
			}
		}
	}
	return all
}

// labelOf returns the label of a statement's text.
func (p *plan) labelOf(s syntax.Stmt) (all label) {
	for _, body := range bodies(s) {
		for _, u := range p.units(body) {
			all |= u.label
		}
	}
	return all
}

// fenced reports whether tags must not enclose a statement: their body is a function of its own, so
// that a variable that it sets is lost after it, and a loop around it cannot be left.
func fenced(s syntax.Stmt, inLoop bool) bool {
	switch s := s.(type) {
	case *syntax.Assign:
		_, attr := s.Target.(*syntax.AttrTarget)
		return !attr && !inLoop
	case *syntax.AssignBlock:
		return !inLoop
	case *syntax.Break, *syntax.Continue:
		return !inLoop
	case *syntax.Macro, *syntax.Block, *syntax.Extends, *syntax.Import, *syntax.FromImport,
		*syntax.Include:
		return true
	case *syntax.For:
		inLoop = true
	}
	for _, body := range bodies(s) {
		for _, sub := range body {
			if fenced(sub, inLoop) {
				return true
			}
		}
	}
	return false
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
func (p *plan) place(list []syntax.Stmt, next int) {
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
			after = all[last+1].span.From
		}
		p.after(all[last], after)
		i = last
	}
}

// inside places the tags in a statement that is not the model's as a whole.
func (p *plan) inside(u unit) {
	if u.stmt == nil || u.label&model == 0 {
		return
	}
	tags := p.spans.Tags(u.stmt)
	i := 1
	for _, body := range bodies(u.stmt) {
		if body == nil {
			continue
		}
		next := u.span.To
		if i < len(tags) {
			next = tags[i].From
		}
		p.place(body, next)
		i++
	}
}

// before puts the opening tag before a unit. The white space before it is treated as it was.
func (p *plan) before(u unit) {
	at := u.span.From
	p.edits = append(p.edits, edit{From: at, To: at,
		Text: p.leftTag(at, p.leftSign(at), openTag) + "%}" + p.lineGuard(at)})
}

// leftTag returns the beginning of a tag that treats the white space before a place as a sign says.
func (p *plan) leftTag(at int, sign, name string) string {
	if sign != "+" {
		return "{%" + sign + name
	}
	rest := strings.TrimRightFunc(p.src[:at], func(r rune) bool {
		return r != '\n' && r != '\r' && (unicode.IsSpace(r) || 0x1c <= r && r <= 0x1f)
	})
	if len(rest) < at && (rest == "" || strings.ContainsAny(rest[len(rest)-1:], "\r\n")) {
		return guard + "{%" + name
	}
	return "{%" + name
}

// lineGuard returns the guard where a line feed stands at a place: a tag before it would take it.
func (p *plan) lineGuard(at int) string {
	if at < len(p.src) && (p.src[at] == '\n' || p.src[at] == '\r') {
		return guard
	}
	return ""
}

// leftSign returns the sign with which a tag at a place treats the white space before it.
func (p *plan) leftSign(at int) string {
	rest := p.src[at:]
	switch {
	case strings.HasPrefix(rest, "{{-"),
		strings.HasPrefix(rest, "{%-"),
		strings.HasPrefix(rest, "{#-"):
		return "-"
	case strings.HasPrefix(rest, "{%+"), strings.HasPrefix(rest, "{#+"):
		return "+"
	case strings.HasPrefix(rest, "{%"), strings.HasPrefix(rest, "{#"):
		return ""
	}
	return "+"
}

// after puts the closing tag after a unit; next is where the tag after it stands.
func (p *plan) after(u unit, next int) {
	at, left, right := u.span.To, "", ""
	if data, ok := u.part.(*syntax.Const); ok && data.Kind == syntax.Data {
		left = "+"
		if at < next && next < len(p.src) { // white space that the next tag strips
			at, left = next, p.leftSign(next)
		}
	} else {
		switch end := p.src[:at]; {
		case strings.HasSuffix(end, "-}}"), strings.HasSuffix(end, "-%}"):
			right = "-%}"
		case strings.HasSuffix(end, "+%}"), strings.HasSuffix(end, "}}"):
			right = "%}" + p.lineGuard(at)
		}
	}
	if right == "" {
		right = "%}"
	}
	p.edits = append(p.edits, edit{From: at, To: at, Text: p.leftTag(at, left, shutTag) + right})
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
func (p *plan) mixed() (list []syntax.Expr) {
	for _, x := range p.order {
		if known := p.parts[x]; known != nil && known.label == mixed {
			list = append(list, x)
		}
	}
	return list
}

func (p *plan) splitPart(x syntax.Expr, known *part) ([]edit, bool) {
	span := p.spans.Print(x)
	if c, ok := x.(*syntax.Const); ok && c.Kind == syntax.Data {
		return p.splitData(span, c.Text, known)
	}
	tag := p.src[span.From:span.To]
	left, right := tagSigns(tag)
	print := func(pieces []string) []edit {
		var b strings.Builder
		for i, piece := range pieces {
			open, shut := "{{ ", " }}"
			if i == 0 {
				open = "{{" + left + " "
			}
			if i == len(pieces)-1 {
				shut = " " + right + "}}"
			}
			b.WriteString(open + piece + shut)
		}
		return []edit{{From: span.From, To: span.To, Text: b.String()}}
	}
	switch x := x.(type) {
	case *syntax.Cond:
		test, then := p.spans.Expr(x.Test), p.spans.Expr(x.Then)
		if left == "" {
			left = "+"
		}
		if right == "" {
			right = "+"
		}
		text := "{%" + left + " if " + p.src[test.From:test.To] + " +%}{{ " +
			p.src[then.From:then.To] + " }}"
		if x.Else != nil {
			other := p.spans.Expr(x.Else)
			text += "{%+ else +%}{{ " + p.src[other.From:other.To] + " }}"
		}
		if strings.HasPrefix(p.src[p.spans.Expr(x).From:], "(") {
			break
		}
		return []edit{{From: span.From, To: span.To, Text: text + "{%+ endif " + right + "%}"}},
			true
	case *syntax.Const:
		if cuts := known.cuts(len(x.Text)); cuts != nil {
			var pieces []string
			at := 0
			for _, cut := range append(cuts, len(x.Text)) {
				pieces = append(pieces, quote(x.Text[at:cut]))
				at = cut
			}
			return print(pieces), true
		}
	case *syntax.Concat, *syntax.Binary:
		var pieces []string
		p.operands(x, &pieces)
		if len(pieces) > 1 {
			return print(pieces), true
		}
	}
	return nil, false
}

// operands flattens a chain of + and ~. An operand of + that follows another one stays an operand,
// so that a value that is no text fails as it did.
func (p *plan) operands(x syntax.Expr, out *[]string) {
	span := p.spans.Expr(x)
	text := p.src[span.From:span.To]
	switch x := x.(type) {
	case *syntax.Concat:
		if !strings.HasPrefix(text, "(") {
			for _, item := range x.Items {
				p.operands(item, out)
			}
			return
		}
	case *syntax.Binary:
		if c, ok := x.X.(*syntax.Const); ok && c.Text == "" && c.Kind == syntax.String {
			break // it was split before
		}
		if x.Op == "+" && !strings.HasPrefix(text, "(") {
			n := len(*out)
			p.operands(x.X, out)
			if len(*out) == n+1 && !isText(x.X) && !isText(x.Y) {
				(*out)[n] = "'' + " + (*out)[n]
			}
			if len(*out) > n {
				right := p.spans.Expr(x.Y)
				piece := p.src[right.From:right.To]
				if !isText(x.Y) {
					piece = "'' + " + piece
				}
				*out = append(*out, piece)
				return
			}
			*out = (*out)[:n]
		}
	}
	*out = append(*out, text)
}

// isText reports whether an expression is the literal of a text.
func isText(x syntax.Expr) bool {
	c, ok := x.(*syntax.Const)
	return ok && c.Kind == syntax.String
}

// tagSigns returns the signs of a {{ tag }}.
func tagSigns(tag string) (left, right string) {
	if strings.HasPrefix(tag, "{{-") {
		left = "-"
	} else if strings.HasPrefix(tag, "{{+") {
		left = "+"
	}
	if strings.HasSuffix(tag, "-}}") {
		right = "-"
	}
	return left, right
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
func (p *plan) splitData(span syntax.Span, text string, known *part) (edits []edit, ok bool) {
	at, off := span.From, 0 // in the source, where \r\n is two bytes, and in the text
	for _, cut := range known.cuts(len(text)) {
		for ; off < cut; off++ {
			if strings.HasPrefix(p.src[at:], "\r\n") {
				at++
			}
			at++
		}
		edits = append(edits, edit{From: at, To: at, Text: guard})
	}
	return edits, len(edits) > 0
}

// quote writes a text as a literal of the template language.
func quote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\t", `\t`, "\r", `\r`).
		Replace(text) +
		"'"
}

// byRole gives the answers a branch of their own around the mixed units of a loop over messages.
func (p *plan) byRole(list []syntax.Stmt, variable string) bool {
	all := p.units(list)
	first, last := -1, -1
	for i, u := range all {
		if u.label == mixed && (u.part != nil || !p.descends(u, variable)) {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		for _, u := range all {
			if u.stmt == nil || u.label != mixed {
				continue
			}
			name := variable
			if f, ok := u.stmt.(*syntax.For); ok && variable == "" {
				if n, ok := f.Target.(*syntax.Name); ok {
					name = n.Name
				}
			}
			for _, body := range bodies(u.stmt) {
				if p.byRole(body, name) {
					return true
				}
			}
		}
		return false
	}
	test := variable + "['role'] == 'assistant'"
	if variable == "" || p.inBranch(all[first].span.From, test) {
		return false
	}
	for _, u := range all[first : last+1] {
		if u.fence {
			return false
		}
	}
	from, to := all[first].span.From, all[last].span.To
	body := p.src[from:to]
	p.edits = append(p.edits, edit{From: from, To: to,
		Text: "{%" + p.leftSign(from) + " if " + test + " +%}" + body + "{%+ else +%}" + body +
			"{%+ endif " + p.rightSign(to) + "%}"})
	return true
}

// inBranch reports whether a place is in a branch for answers that was made here.
func (p *plan) inBranch(at int, test string) bool {
	for s := range within(p.tree.Body) {
		span := p.spans.Stmt(s)
		if _, ok := s.(*syntax.If); ok && span.From < at && at < span.To {
			tag := p.spans.Tags(s)[0]
			if strings.Contains(p.src[tag.From:tag.To], " if "+test+" +%}") {
				return true
			}
		}
	}
	return false
}

// descends reports whether the mixed text of a statement can be told apart within it.
func (p *plan) descends(u unit, variable string) bool {
	_, loop := u.stmt.(*syntax.For)
	return variable == "" || !loop
}

// rightSign returns the sign with which a tag that ends at a place treats the line feed after it.
func (p *plan) rightSign(to int) string {
	switch end := p.src[:to]; {
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
func (p *plan) cutOut(x syntax.Expr, known *part, header string) (edit, bool) {
	if _, data := x.(*syntax.Const); data {
		return edit{}, false
	}
	after, seen := "", false
	bare := true // nothing precedes
	for _, s := range known.texts {
		if s.text == "" {
			return edit{}, false
		}
		if s.before != "" {
			bare = false
		}
		if seen && s.after != after {
			return edit{}, false
		}
		after, seen = s.after, true
	}
	for _, s := range known.texts {
		if !bare &&
			(!strings.HasSuffix(s.before, header) || strings.Count(s.before, header) != 1 ||
				header == "") {
			return edit{}, false
		}
	}
	span := p.spans.Print(x)
	left, right := tagSigns(p.src[span.From:span.To])
	inner := p.spans.Expr(x)
	value := "(" + p.src[inner.From:inner.To] + ")"
	text := value
	out := "{{" + left + " "
	if !bare {
		out += fmt.Sprintf("%s.split(%s, 1)[0] + %s }}{{ ", value, quote(header), quote(header))
		text = fmt.Sprintf("%s.split(%s, 1)[1]", value, quote(header))
	}
	if after == "" {
		return edit{From: span.From, To: span.To, Text: out + text + " " + right + "}}"}, !bare
	}
	out += fmt.Sprintf("%s[:-%d] }}{{ %s %s}}", text, len([]rune(after)), quote(after), right)
	return edit{From: span.From, To: span.To, Text: out}, true
}
