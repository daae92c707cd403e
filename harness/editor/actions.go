package editor

import (
	"context"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/edit/fix"
)

// patch is a proven patch of a template, as edits of its document.
type patch struct {
	title string
	gone  []finding // that it does away with
	edits []docEdit
	all   bool // it is the whole of a template's patches
}

// docEdit puts a text in the place of a stretch of a document.
type docEdit struct {
	from, to int
	text     string
}

// patchesOf looks for patches of what was found. A patch is proven with those before it, so it
// brings them along.
func patchesOf(ctx context.Context, l *look, j *judge, found []finding) []patch {
	var all []patch
	for _, p := range l.parts {
		o := fix.Options{Limits: fix.Offering(l.limits)}
		for _, f := range found {
			if f.res.Suite == p.src.Name && slices.Contains(fix.Rules(), f.res.Rule) {
				o.Only = append(o.Only, f.res.Rule)
			}
		}
		if o.Only == nil {
			continue
		}
		of := j.options
		of.Only, of.Renderer = nil, nil
		m := fix.Mend(ctx, p.src, o, of)
		var gone []finding
		for i, one := range m.Patches {
			for _, f := range found {
				if f.res.Suite == p.src.Name && one.Mends(&f.res) {
					gone = append(gone, f)
				}
			}
			title := "Mend " + string(one.Kind)
			if i > 0 {
				title += ", with the patches before it"
			}
			all = append(all, patch{title: title, gone: gone,
				edits: p.edits(l.text.string, between(p.src.Text, one.After))})
		}
		if len(m.Patches) > 0 {
			last := all[len(all)-1]
			last.title, last.all = "Mend all that needs no judgement", true
			all = append(all, last)
		}
	}
	return all
}

// edits are edits of a template as edits of its document, in each string that spells it.
func (p part) edits(document string, edits []fix.Edit) []docEdit {
	var all []docEdit
	if p.at == nil {
		for _, e := range edits {
			all = append(all, docEdit{e.From, e.To, e.Text})
		}
		return all
	}
	spelled, err := fix.Spelled(document, p.src.Text)
	if err != nil {
		return nil
	}
	for _, at := range spelled {
		for _, e := range edits {
			quoted := ordered.Str(e.Text).String()
			all = append(all, docEdit{at[e.From], at[e.To], quoted[1 : len(quoted)-1]})
		}
	}
	return all
}

// actions answers which patches there are for a place, once the look at the text has found them.
func (s *server) actions(ctx context.Context, p actionParams) (any, error) {
	d, l, ok := s.looked(p.TextDocument.URI)
	if !ok {
		return []codeAction{}, nil
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.done:
	}
	from, to := l.text.offset(p.Range.Start), l.text.offset(p.Range.End)
	actions := []codeAction{}
	for _, one := range l.patches {
		kind := quickFix
		if one.all {
			kind = fixAllOwn
		}
		gone := slices.DeleteFunc(slices.Clone(one.gone), func(f finding) bool {
			return !one.all && (f.to < from || f.from > to)
		})
		if !wanted(kind, p.Context.Only) || len(gone) == 0 && !one.all {
			continue
		}
		edit := documentEdit{TextDocument: versioned{d.uri, l.version}}
		for _, e := range one.edits {
			edit.Edits = append(edit.Edits, textEdit{l.text.span(e.from, e.to), e.text})
		}
		actions = append(actions, codeAction{Title: one.title, Kind: kind,
			Diagnostics: diagnostics(d.uri, l.text, gone),
			Edit:        &workspaceEdit{[]documentEdit{edit}}})
	}
	if s.canShow() && wanted("", p.Context.Only) {
		title := "Render a conversation"
		actions = append(actions, codeAction{Title: title, Command: &command{title, renderCommand,
			[]any{d.uri}}})
	}
	return actions, nil
}

// wanted reports whether a kind of action was asked for: one of the list, or below one of it.
func wanted(kind string, only []string) bool {
	return len(only) == 0 || slices.ContainsFunc(only, func(o string) bool {
		return kind == o || len(kind) > len(o) && kind[:len(o)+1] == o+"."
	})
}

// looked returns a document and the last look at it.
func (s *server) looked(uri string) (document, *look, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.documents[uri]
	if d == nil || d.look == nil {
		return document{}, nil, false
	}
	return *d, d.look, true
}

// between returns the edits that make one text of another: a line each where both have the same
// number of lines, else one.
func between(was, is string) []fix.Edit {
	var edits []fix.Edit
	a, b := slices.Collect(strings.Lines(was)), slices.Collect(strings.Lines(is))
	if len(a) != len(b) {
		a, b = []string{was}, []string{is}
	}
	off := 0
	for i := range a {
		if a[i] != b[i] {
			before := len(source.CommonPrefix(a[i], b[i]))
			x, y := a[i][before:], b[i][before:]
			after := len(source.CommonSuffix(x, y))
			edits = append(edits, fix.Edit{From: off + before, To: off + len(a[i]) - after,
				Text: y[:len(y)-after]})
		}
		off += len(a[i])
	}
	return edits
}
