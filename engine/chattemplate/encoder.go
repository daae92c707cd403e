package chattemplate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

// Encoder is a program that writes prompts without a template, from the variables that a template
// would see ([Template.Vars]). An error is a refusal.
type Encoder func(vars ordered.Value) (string, error)

// encoderNames are the variables that an encoder is taken to read.
var encoderNames = []string{"add_generation_prompt", "enable_thinking", "messages",
	"reasoning_effort", "thinking", "tools"}

// CompileEncoder returns a template that an encoder stands for. Each prompt becomes a template of
// its own, for that one input: the texts of the input that are found in the prompt are expressions,
// and all else is its own text. So origins and reads come of the same machine as those of every
// template. A text is found where it stands as it is or, arguments and content, as JSON; what an
// encoder changes on the way is taken for its own text, which the proof of a format shows.
func CompileEncoder(ctx context.Context, name string, encode Encoder, bos, eos string,
	now func() time.Time) *Template {
	return &Template{Source: source.New(name, ""), BOS: bos, EOS: eos, Now: now, ctx: ctx,
		encode: encode}
}

// of returns the program that renders an input.
func (t *Template) of(in Input) (*jinja.Template, error) {
	if t.encode == nil {
		return t.program, nil
	}
	vars := t.Vars(in)
	text, err := t.encode(vars)
	written := fmt.Sprintf("{{ raise_exception(%s) }}", quoted(fmt.Sprint(err)))
	if err == nil {
		written = writeTemplate(vars, text)
	}
	return jinja.Compile(source.New(t.Source.Name, written))
}

// quoted is a text as a string of Jinja.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`).
		Replace(text) + `"`
}

// leaf is a text of an input, and the expression that writes it.
type leaf struct {
	text, expression string
	message          int // which message it is in, -1: in a tool
}

// stretch is a place in a prompt where a leaf stands.
type stretch struct {
	from, to int
	*leaf
}

// writeTemplate returns the template that writes a prompt from its input.
func writeTemplate(vars ordered.Value, prompt string) string {
	var out strings.Builder
	out.WriteString("{% set read = [")
	for _, name := range encoderNames {
		out.WriteString(name + " is defined, ")
	}
	out.WriteString("] %}")
	at := 0
	write := func(text string) {
		if text != "" {
			fmt.Fprintf(&out, "{{ %s }}", quoted(text))
		}
	}
	found := locate(leavesOf(vars), prompt)
	for _, s := range withArguments(found, vars, prompt) {
		write(prompt[at:s.from])
		fmt.Fprintf(&out, "{{ %s }}", s.expression)
		at = s.to
	}
	write(prompt[at:])
	return out.String()
}

// leavesOf lists the leaves of an input in its order.
func leavesOf(vars ordered.Value) []*leaf {
	var all []*leaf
	add := func(message int, v ordered.Value, path string) {
		if text := v.Text(); v.Kind() == ordered.String && strings.TrimSpace(text) != "" {
			all = append(all, &leaf{text, path, message})
			if coded := v.String(); coded != `"`+text+`"` {
				all = append(all, &leaf{coded, path + " | tojson", message})
			}
			last := text
			for _, cut := range [...]struct{ text, method string }{
				{strings.TrimRight(text, " "), ".rstrip(' ')"},
				{strings.TrimRightFunc(text, unicode.IsSpace), ".rstrip()"},
				{strings.TrimSpace(text), ".strip()"},
			} {
				if cut.text != last {
					all = append(all, &leaf{cut.text, path + cut.method, message})
				}
				last = cut.text
			}
		}
	}
	for i, tool := range vars.At("tools").Items() {
		path := fmt.Sprintf("tools[%d]", i)
		f := tool.At("function")
		all = append(all, &leaf{tool.String(), path + " | tojson", -1},
			&leaf{f.String(), path + ".function | tojson", -1})
		add(-1, f.At("name"), path+".function.name")
		add(-1, f.At("description"), path+".function.description")
	}
	for i, m := range vars.At("messages").Items() {
		path := fmt.Sprintf("messages[%d]", i)
		for _, name := range [...]string{"reasoning_content", "reasoning", "thinking"} {
			if text := m.At(name); text.Text() != "" {
				add(i, text, path+"."+name)
				break
			}
		}
		add(i, m.At("content"), path+".content")
		for j, part := range m.At("content").Items() {
			for _, name := range [...]string{"text", "thinking"} {
				add(i, part.At(name), fmt.Sprintf("%s.content[%d].%s", path, j, name))
			}
		}
		for j, call := range m.At("tool_calls").Items() {
			inner := fmt.Sprintf("%s.tool_calls[%d]", path, j)
			f := call.At("function")
			add(i, call.At("id"), inner+".id")
			add(i, f.At("name"), inner+".function.name")
			if arguments := f.At("arguments"); arguments.Kind() == ordered.String {
				add(i, arguments, inner+".function.arguments")
			} else {
				all = append(all, &leaf{arguments.String(), inner +
					".function.arguments | tojson", i})
			}
		}
		add(i, m.At("tool_call_id"), path+".tool_call_id")
		add(i, m.At("name"), path+".name")
	}
	return all
}

// locate finds leaves in a prompt, long ones first, and returns their places in order. A text that
// several leaves have is that of the one whose message stands there, by the texts around it that
// one message alone has.
func locate(leaves []*leaf, prompt string) []stretch {
	var texts []string
	byText := map[string][]*leaf{}
	for _, l := range leaves {
		if byText[l.text] == nil {
			texts = append(texts, l.text)
		}
		byText[l.text] = append(byText[l.text], l)
	}
	slices.SortStableFunc(texts, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	taken := make([]bool, len(prompt))
	var found, open []stretch // open: which of several leaves is not known yet
	for _, text := range texts {
		var places []stretch
		for at := 0; ; {
			i := strings.Index(prompt[at:], text)
			if i < 0 {
				break
			}
			from := at + i
			if at = from + len(text); slices.Contains(taken[from:at], true) {
				at = from + 1
				continue
			}
			places = append(places, stretch{from: from, to: at})
		}
		for i, p := range places {
			for j := p.from; j < p.to; j++ {
				taken[j] = true
			}
			if len(places) == len(byText[text]) {
				p.leaf = byText[text][i]
				found = append(found, p)
			} else {
				open = append(open, p)
			}
		}
	}
	slices.SortFunc(open, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	used := map[*leaf]bool{}
	for _, p := range open {
		p.leaf = nearest(found, byText[prompt[p.from:p.to]], p.from, used)
		used[p.leaf] = true
		found = append(found, p)
	}
	slices.SortFunc(found, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	return found
}

// nearest returns the leaf among several that stands at a place: the first that is not used yet of
// the last message that speaks before the place, or of a later one; where there is none, one that
// is used.
func nearest(found []stretch, among []*leaf, at int, used map[*leaf]bool) *leaf {
	last := -1
	for _, s := range found {
		if s.from < at {
			last = max(last, s.message)
		}
	}
	choice := among[len(among)-1]
	for _, l := range slices.Backward(among) {
		if l.message >= last && (!used[l] || used[choice]) {
			choice = l
		}
	}
	return choice
}

// withArguments adds the keys and values of arguments that do not stand in the prompt as one
// object: they follow the name of their call, in their order.
func withArguments(found []stretch, vars ordered.Value, prompt string) []stretch {
	all := slices.Clone(found)
	for i, name := range found {
		path, ok := strings.CutSuffix(name.expression, ".function.name")
		if !ok || name.message < 0 {
			continue
		}
		path += ".function.arguments"
		end := len(prompt)
		if i+1 < len(found) {
			end = found[i+1].from
			if strings.HasPrefix(found[i+1].expression, path) {
				continue
			}
		}
		all = append(all, membersOf(path, argumentsAt(vars, name.leaf), prompt, name.to, end)...)
	}
	slices.SortFunc(all, func(a, b stretch) int { return cmp.Compare(a.from, b.from) })
	return all
}

// argumentsAt returns the arguments of the call whose name a leaf is.
func argumentsAt(vars ordered.Value, name *leaf) ordered.Value {
	calls := vars.At("messages").Items()[name.message].At("tool_calls").Items()
	for j, call := range calls {
		if strings.Contains(name.expression, fmt.Sprintf(".tool_calls[%d].", j)) {
			return call.At("function", "arguments")
		}
	}
	return ordered.Value{}
}

// membersOf finds the members of an object in a part of a prompt.
func membersOf(path string, object ordered.Value, prompt string, from, end int) []stretch {
	var keys, values []stretch
	at := from
	for i, m := range object.Members() {
		key := word(prompt[at:end], m.Key, false)
		if key < 0 {
			return nil
		}
		write := fmt.Sprintf("(%s | list)[%d]", path, i)
		at += key + len(m.Key)
		keys = append(keys, stretch{at - len(m.Key), at, &leaf{m.Key, write, 0}})
	}
	for i, m := range object.Members() {
		low, high := keys[i].to, end
		if i+1 < len(keys) {
			high = keys[i+1].from
		}
		inner := fmt.Sprintf("%s[%s]", path, quoted(m.Key))
		for _, l := range []*leaf{{m.Value.String(), inner + " | tojson", 0},
			{m.Value.Text(), inner, 0}} {
			if v := word(prompt[low:high], l.text, true); v >= 0 {
				values = append(values, stretch{low + v, low + v + len(l.text), l})
				break
			}
		}
	}
	return append(keys, values...)
}

// word finds the first or the last place of a text where it is no part of a longer word; -1: there
// is none.
func word(in, text string, last bool) int {
	isWord := func(b byte) bool {
		return b == '_' || '0' <= b && b <= '9' || 'a' <= b|' ' && b|' ' <= 'z'
	}
	found := -1
	for at := 0; text != ""; {
		i := strings.Index(in[at:], text)
		if i < 0 {
			break
		}
		from := at + i
		to := from + len(text)
		at = from + 1
		if from > 0 && isWord(in[from-1]) && isWord(text[0]) ||
			to < len(in) && isWord(in[to]) && isWord(text[len(text)-1]) {
			continue
		}
		if found = from; !last {
			break
		}
	}
	return found
}
