package gguf

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/goassay/assay/engine/source"
)

// Info is a model's description of itself.
type Info struct {
	Architecture string
	Name         string
	// elements of the tensors in this file, without those in a split model's other parts
	Parameters    uint64
	ContextLength uint64 // in tokens; 0: not given
	// FileType is the type of most tensors, such as "Q4_K_M". Where the file names none, it is the
	// type that takes the most bytes; "" where there is no tensor.
	FileType  string
	Tokenizer string // the vocabulary's kind; "": there is none
	BOS, EOS  Token
	Templates []Template // the default one first, the named ones sorted
	Split     Split
	// Problems describes contradictions that do not keep a model from being read, for people.
	Problems []string
}

// Token is a special token.
type Token struct {
	ID   int64  // -1: not given
	Text string // "" where the vocabulary has no such token
	// Add reports whether the tokenizer adds it to every prompt; Said, whether the file says so at
	// all.
	Add, Said bool
}

// Template is a chat template in a model.
type Template struct {
	Name string // "" for the default one
	Text string
}

// ToolUse is the name of the template that is used for requests with tools, where there is one.
const ToolUse = "tool_use"

// Split is the number of a file among a model's parts. The zero value is a model in one file.
type Split struct {
	No      uint64 // counted from 0
	Count   uint64 // of parts; 0 or 1: the model is in one file
	Tensors uint64 // of all parts together
}

// Template returns a template by its name, "" for the default one.
func (i *Info) Template(name string) (Template, bool) {
	for _, t := range i.Templates {
		if t.Name == name {
			return t, true
		}
	}
	return Template{}, false
}

// The keys.
const (
	templateKey     = "tokenizer.chat_template"
	namedPrefix     = templateKey + "."
	templateList    = "tokenizer.chat_templates" // the names of the named ones
	tokensKey       = "tokenizer.ggml.tokens"
	splitNoKey      = "split.no"
	splitCountKey   = "split.count"
	splitTotalKey   = "split.tensors.count"
	fileTypeKey     = "general.file_type"
	architectureKey = "general.architecture"
)

// Info reads the model's description of itself. It fails if a key that it needs has the wrong type.
// A missing key is not an error.
func (f *File) Info() (*Info, error) {
	q := &query{file: f}
	i := &Info{
		Architecture: q.text(architectureKey),
		Name:         q.text("general.name"),
		Tokenizer:    q.text("tokenizer.ggml.model"),
		FileType:     q.fileType(),
		Split:        Split{q.uint(splitNoKey), q.uint(splitCountKey), q.uint(splitTotalKey)},
		Templates:    q.templates(),
		BOS:          q.token("bos"),
		EOS:          q.token("eos"),
	}
	if i.Architecture != "" {
		i.ContextLength = q.uint(i.Architecture + ".context_length")
	}
	for _, t := range f.Tensors {
		i.Parameters += t.Elements()
	}
	if i.Split.Count > 1 && i.Split.No >= i.Split.Count {
		q.problem("%s is %d, and %s is %d", splitNoKey, i.Split.No, splitCountKey, i.Split.Count)
	}
	i.Problems = q.problems
	return i, q.err
}

// query reads keys until one is of the wrong type.
type query struct {
	file     *File
	problems []string
	err      error
}

func (q *query) problem(format string, args ...any) {
	q.problems = append(q.problems, fmt.Sprintf(format, args...))
}

// get reads a key as T.
func get[T any](q *query, key, want string, as func(Value) (T, bool)) (v T, found bool) {
	p, found := q.file.Find(key)
	if !found {
		return v, false
	}
	v, ok := as(p.Value)
	if !ok && q.err == nil {
		q.err = errorf(p.off, "key %q is %s of type "+
			"%s, expected %s", key, p.Value, p.Value.typ, want)
	}
	return v, ok
}

func (q *query) text(key string) string {
	s, _ := get(q, key, "a text", Value.Text)
	return s
}

func (q *query) uint(key string) uint64 {
	n, _ := get(q, key, "an integer that is not negative", Value.Uint)
	return n
}

func (q *query) fileType() string {
	n, ok := get(q, fileTypeKey, "an integer that is not negative", Value.Uint)
	if ok {
		if name, ok := fileTypes[n&^guessed]; ok {
			return name
		}
		return fmt.Sprintf("type %d", n)
	}
	bytes := map[TensorType]uint64{}
	for _, t := range q.file.Tensors {
		n, _ := t.Bytes()
		bytes[t.Type] += n
	}
	best, name := uint64(0), ""
	for _, t := range slices.Sorted(maps.Keys(bytes)) {
		if bytes[t] > best {
			best, name = bytes[t], t.String()
		}
	}
	return name
}

// templates reads all templates, and checks the list of names against them.
func (q *query) templates() []Template {
	var templates []Template
	if text, ok := get(q, templateKey, "a text", Value.Text); ok {
		templates = append(templates, Template{Text: text})
	}
	named, more := len(templates), 0
	for _, p := range q.file.Pairs {
		if name, ok := strings.CutPrefix(p.Key, namedPrefix); !ok || name == "" {
			continue
		} else if len(templates)-named < maxTemplates || name == ToolUse {
			templates = append(templates, Template{name, q.text(p.Key)})
		} else {
			more++
		}
	}
	if more > 0 {
		q.problem("there are %d more named templates than %d, "+
			"which are left out", more, maxTemplates)
	}
	slices.SortFunc(templates[named:],
		func(a, b Template) int { return strings.Compare(a.Name, b.Name) })
	missing := 0
	for name := range q.listed() {
		if _, ok := q.file.Find(namedPrefix + name); ok || name == "default" {
			continue
		}
		if missing++; missing <= maxTemplates {
			q.problem("%s lists %q, and "+
				"there is no %s%s", templateList, source.Cut(name, maxQuoted), namedPrefix,
				source.Cut(name, maxQuoted))
		}
	}
	if missing > maxTemplates {
		q.problem("%s lists %d more that are not there", templateList, missing-maxTemplates)
	}
	return templates
}

// listed gives the names in the list of templates.
func (q *query) listed() iter.Seq[string] {
	return func(yield func(string) bool) {
		list, ok := get(q, templateList, "an array of texts", Value.Array)
		if !ok {
			return
		}
		if list.Type != String {
			q.problem("%s is an array of %s, expected texts", templateList, list.Type)
			return
		}
		for v, err := range list.All() {
			if err != nil {
				q.fail(err)
				return
			}
			if !yield(v.text) {
				return
			}
		}
	}
}

func (q *query) fail(err error) {
	if q.err == nil {
		q.err = err
	}
}

// token reads a special token and its text from the vocabulary.
func (q *query) token(name string) Token {
	t := Token{ID: -1}
	t.Add, t.Said = get(q, "tokenizer.ggml.add_"+name+"_token", "a boolean", Value.Bool)
	key := "tokenizer.ggml." + name + "_token_id"
	id, ok := get(q, key, "an integer that is not negative", Value.Uint)
	if !ok {
		return t
	}
	t.ID = int64(min(id, 1<<63-1))
	tokens, ok := get(q, tokensKey, "an array of texts", Value.Array)
	switch {
	case !ok:
		return t
	case tokens.Type != String:
		q.problem("%s is an array of %s, expected texts", tokensKey, tokens.Type)
	case id >= tokens.Len:
		q.problem("%s is %d, and the vocabulary has %d tokens", key, id, tokens.Len)
	default:
		v, err := tokens.At(id)
		if err != nil {
			q.fail(err)
		}
		t.Text = v.text
	}
	return t
}

// PartName returns the file name of part no of a split model, counted from 0, given the name of any
// part: "x-00001-of-00003.gguf". It returns false if name is not that of one of count parts.
func PartName(name string, no, count uint64) (string, bool) {
	const tail = "-00001-of-00001.gguf"
	if len(name) < len(tail) || count == 0 || count > 99999 || no >= count {
		return "", false
	}
	base, end := name[:len(name)-len(tail)], name[len(name)-len(tail):]
	at, err := strconv.ParseUint(end[1:6], 10, 32)
	if err == nil && at > 0 && at <= count && end == fmt.Sprintf("-%05d-of-%05d.gguf", at, count) {
		return base + fmt.Sprintf("-%05d-of-%05d.gguf", no+1, count), true
	}
	return "", false
}
