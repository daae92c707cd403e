package families

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
)

// Outputs is the file of a family's folder with its outputs for each kind; a script of the folder
// is a case of its own.
const Outputs = "outputs.txtar"

const (
	kindsFolder      = "kinds"
	advisoriesFolder = "advisories" // known faults; package advisory reads them
	functionsFile    = "functions.json"
	requestFile      = "request.json"
	scriptEnding     = ".txtar"
	ownScript        = "template" // the case that the head of an outputs file makes
)

// optional are the commands that a family may be without.
var optional = []string{"finish", "accept", "roundtrip"}

// Kinds are the kinds of cases: for each a script, and the request and the expectation in each
// setting.
type Kinds struct {
	kinds     map[string]*txtar.Archive
	functions ordered.Value
}

// ReadKinds reads kinds/*.txtar and functions.json of a corpus. A corpus without a folder kinds has
// the kinds of the corpus that is built in.
func ReadKinds(fsys fs.FS) (*Kinds, error) {
	files, err := fs.Glob(fsys, kindsFolder+"/*"+scriptEnding)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		fsys = corpus.FS
		if files, err = fs.Glob(fsys, kindsFolder+"/*"+scriptEnding); err != nil {
			return nil, err
		}
	}
	k := &Kinds{kinds: map[string]*txtar.Archive{}}
	for _, file := range files {
		if k.kinds[caseName(file)], err = readArchive(fsys, file); err != nil {
			return nil, err
		}
	}
	text, err := fs.ReadFile(fsys, functionsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	} else if err != nil {
		return nil, err
	}
	src := source.New(functionsFile, string(text))
	if k.functions, err = ordered.ParseString(src.Text); err != nil {
		return nil, positioned(src, err)
	}
	return k, nil
}

// Names returns the kinds, sorted.
func (k *Kinds) Names() []string { return slices.Sorted(maps.Keys(k.kinds)) }

// Request and Message return a kind's request and its expected message in a setting.
func (k *Kinds) Request(kind, setting string) (ordered.Value, error) {
	text, ok := k.file(kind, setting, requestFile)
	if !ok {
		return ordered.Value{}, fmt.Errorf("the kind %s has no setting %s", kind, setting)
	}
	return k.request(text, ordered.Value{})
}

// Message returns the message that a kind expects in a setting, as JSON.
func (k *Kinds) Message(kind, setting string) (string, bool) {
	return k.file(kind, setting, "message.json")
}

// Cut reports whether the outputs of a kind end because a limit was reached.
func (k *Kinds) Cut(kind string) bool { return k.has(kind, "parse -cut ") }

// Runs reports whether the script of a kind runs a command.
func (k *Kinds) Runs(kind, command string) bool { return k.has(kind, command+" ") }

// Finishes reports whether the script of a kind expects a reason for the end of the answer.
func (k *Kinds) Finishes(kind, reason string) bool { return k.has(kind, "finish "+reason+"\n") }

// has reports whether a line of a kind's script begins with a text.
func (k *Kinds) has(kind, beginning string) bool {
	a, ok := k.kinds[kind]
	return ok && strings.Contains("\n"+string(a.Comment), "\n"+beginning)
}

// file returns a file of a kind: that of the setting, or else the one that all settings share.
func (k *Kinds) file(kind, setting, name string) (string, bool) {
	a, ok := k.kinds[kind]
	if !ok {
		return "", false
	}
	for _, f := range a.Files {
		if f.Name == setting+"/"+name || f.Name == name {
			return strings.TrimSuffix(string(f.Data), "\n"), true
		}
	}
	return "", false
}

// request reads a request: a string among its tools names a function of functions.json, and the
// members of also are added.
func (k *Kinds) request(text string, also ordered.Value) (ordered.Value, error) {
	src := source.New(requestFile, text)
	v, err := ordered.ParseString(text)
	if err != nil {
		return v, positioned(src, err)
	}
	if tools := v.At("tools"); tools.Kind() == ordered.Array {
		items := slices.Clone(tools.Items())
		for i, item := range items {
			if item.Kind() != ordered.String {
				continue
			}
			function, ok := k.functions.Get(item.Text())
			if !ok {
				return v, fmt.Errorf("%s has no function %q", functionsFile, item.Text())
			}
			items[i] = ordered.Pairs("type", "function", "function", function)
		}
		v = v.With("tools", ordered.ArrayOf(items...))
	}
	for _, m := range also.Members() {
		v = v.With(m.Key, m.Value)
	}
	return v, nil
}

// family is an outputs file, read.
type family struct {
	name    string
	setting string
	// the script of the template itself; line n is that of the file
	own     string
	kinds   []string                     // sorted
	files   map[string]map[string]string // of each kind
	asks    map[string]ordered.Value     // additions to the request of a kind
	without map[string][]string          // the commands that a kind is without
}

func (f *family) file() string { return f.name + "/" + Outputs }

// readOutputs reads the outputs of a family. The head has comments and, each on a line:
//
//	setting NAME                  in which setting its cases are told
//	caps NAME..., gate            commands of a script about the template alone
//	ask 'JSON' KIND...            members that the requests of these kinds have besides
//	without COMMAND KIND...       these kinds do not run the command
//
// Then come the outputs, -- KIND/output.txt --, the prompts, -- KIND/prompt.txt --, and the other
// parts of a kind that differ here.
func (k *Kinds) readOutputs(name string, a *txtar.Archive) (*family, error) {
	f := &family{name: name, files: map[string]map[string]string{},
		asks:    map[string]ordered.Value{},
		without: map[string][]string{}}
	for _, file := range a.Files {
		kind, rest, ok := strings.Cut(file.Name, "/")
		if !ok {
			return nil, fmt.Errorf("%s: expected a file of a kind, -- "+
				"KIND/output.txt --, found %q", f.file(), file.Name)
		}
		if _, known := k.kinds[kind]; !known {
			return nil, fmt.Errorf("%s: there is no kind "+
				"%q; there are %s", f.file(), kind, strings.Join(k.Names(), ", "))
		}
		if f.files[kind] == nil {
			f.files[kind] = map[string]string{}
		}
		if _, twice := f.files[kind][rest]; twice {
			return nil, fmt.Errorf("%s: the file %q is there twice", f.file(), file.Name)
		}
		f.files[kind][rest] = string(file.Data)
	}
	f.kinds = slices.Sorted(maps.Keys(f.files))
	if err := f.readHead(string(a.Comment)); err != nil {
		return nil, err
	}
	if f.setting == "" {
		return nil, fmt.Errorf("%s: the head names no setting; `setting NAME` does", f.file())
	}
	for _, kind := range f.kinds {
		if _, ok := f.files[kind][requestFile]; ok {
			continue
		}
		if _, ok := k.file(kind, f.setting, requestFile); !ok {
			return nil, fmt.Errorf("%s: the kind %s is not told in the setting %s; add it to "+
				"%s/%s%s, or a file %s/%s here",
				f.file(), kind, f.setting, kindsFolder, kind, scriptEnding, kind, requestFile)
		}
	}
	return f, nil
}

func (f *family) readHead(head string) error {
	var own strings.Builder
	commands, number := 0, 0
	for line := range strings.Lines(head) {
		number++
		line = strings.TrimRight(line, "\r\n")
		word, rest, _ := strings.Cut(line, " ")
		kept := ""
		var err error
		switch {
		case number == 1 && !strings.HasPrefix(line, "#"):
			err = errors.New("expected a comment about the family")
		case line == "" || strings.HasPrefix(line, "#"):
		case word == "setting":
			f.setting = strings.TrimSpace(rest)
		case word == "ask":
			err = f.readAsk(rest)
		case word == "without":
			err = f.readWithout(strings.Fields(rest))
		default: // a command; the script decides which may stand here
			kept = line
			commands++
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", f.file(), number, err)
		}
		if number == 1 {
			kept = "template " + f.name
		}
		own.WriteString(kept + "\n")
	}
	if commands > 0 {
		f.own = own.String()
	}
	return nil
}

func (f *family) readAsk(rest string) error {
	text, ok := strings.CutPrefix(rest, "'")
	text, kinds, closed := strings.Cut(text, "' ")
	if !ok || !closed {
		return errors.New("expected ask, JSON in single quotes, and kinds")
	}
	v, err := ordered.ParseString(text)
	if err != nil {
		return positioned(source.New("ask", text), err)
	}
	if v.Kind() != ordered.Object {
		return fmt.Errorf("expected an object of members to ask for, found %s", v.Kind())
	}
	for _, kind := range strings.Fields(kinds) {
		if f.files[kind] == nil {
			return fmt.Errorf("there is no output of the kind %q", kind)
		}
		f.asks[kind] = v
	}
	return nil
}

func (f *family) readWithout(words []string) error {
	if len(words) < 2 || !slices.Contains(optional, words[0]) {
		return fmt.Errorf("expected without COMMAND KIND..., with one of the commands %s",
			strings.Join(optional, ", "))
	}
	for _, kind := range words[1:] {
		if f.files[kind] == nil {
			return fmt.Errorf("there is no output of the kind %q", kind)
		}
		f.without[kind] = append(f.without[kind], words[0])
	}
	return nil
}

// compose makes the script of a kind for a family. Its first line names the template; line n + 1 is
// line n of the kind's script.
func (k *Kinds) compose(f *family, kind string) ([]byte, error) {
	a := k.kinds[kind]
	var head strings.Builder
	fmt.Fprintf(&head, "template %s\n", f.name)
	for line := range strings.Lines(string(a.Comment)) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if slices.Contains(f.without[kind], word) {
			line = "# " + line
		}
		head.WriteString(line)
	}
	composed := txtar.Archive{Comment: []byte(head.String())}
	add := func(name, text string) {
		composed.Files = append(composed.Files, txtar.File{Name: name, Data: []byte(text)})
	}
	files := f.files[kind]
	for _, file := range a.Files {
		setting, name, ok := strings.Cut(file.Name, "/")
		if !ok {
			setting, name = f.setting, file.Name
		}
		if _, other := files[name]; setting == f.setting && !other && name != requestFile {
			add(name, string(file.Data))
		}
	}
	text, ok := files[requestFile]
	if !ok {
		text, _ = k.file(kind, f.setting, requestFile)
	}
	request, err := k.request(text, f.asks[kind])
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w", f.file(), kind, err)
	}
	add(requestFile, string(request.Append(nil, ordered.Pretty))+"\n")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if name != requestFile {
			add(name, files[name])
		}
	}
	return txtar.Format(&composed), nil
}

// Origin is where a case of a corpus is written.
type Origin struct {
	File   string // the path in the corpus
	Kind   string // the kind that has the script; "": the script is in File
	Script string // the path of the kind's script
	Shift  int    // line n of the case is line n - Shift of the script
}

// Origin returns where a case is written: itself, or a kind and the outputs of the family.
func (c *Corpus) Origin(file string) Origin {
	folder, base := path.Split(file)
	name := caseName(base)
	f, ok := c.outputs[strings.TrimSuffix(folder, "/")]
	switch {
	case !ok:
	case name == ownScript && f.own != "":
		return Origin{File: folder + Outputs}
	case f.files[name] != nil:
		return Origin{File: folder + Outputs, Kind: name, Shift: 1,
			Script: kindsFolder + "/" + name + scriptEnding}
	}
	return Origin{File: file}
}

// composed is a corpus in which the cases that kinds make can be read as files.
type composed struct {
	fs.FS
	c *Corpus
}

// ReadFile implements [fs.ReadFileFS].
func (s composed) ReadFile(file string) ([]byte, error) {
	folder, base := path.Split(file)
	name := caseName(base)
	f, ok := s.c.outputs[strings.TrimSuffix(folder, "/")]
	switch {
	case !ok || path.Ext(base) != scriptEnding:
	case name == ownScript && f.own != "":
		return []byte(f.own), nil
	case f.files[name] != nil:
		return s.c.Kinds.compose(f, name)
	}
	return fs.ReadFile(s.FS, file)
}

// cases are the scripts that an outputs file makes.
func (f *family) cases() []string {
	var all []string
	if f.own != "" {
		all = append(all, f.name+"/"+ownScript+scriptEnding)
	}
	for _, kind := range f.kinds {
		all = append(all, f.name+"/"+kind+scriptEnding)
	}
	return all
}

func caseName(file string) string { return strings.TrimSuffix(path.Base(file), scriptEnding) }

func readArchive(fsys fs.FS, file string) (*txtar.Archive, error) {
	data, err := fs.ReadFile(fsys, file)
	if err != nil {
		return nil, err
	}
	if line := Nameless(string(data)); line > 0 {
		return nil, fmt.Errorf("%s:%d: the header of a file without a name", file, line)
	}
	return txtar.Parse(data), nil
}

// Nameless returns the line of an archive's text that is the header of a file without a name, or 0.
// The reader of archives panics there.
func Nameless(text string) int {
	number := 0
	for line := range strings.Lines(text) {
		if number++; strings.TrimRight(line, "\r\n") == "-- --" {
			return number
		}
	}
	return 0
}

// positioned adds the text to an error of the JSON reader.
func positioned(src *source.Source, err error) error {
	var e *source.Error
	if errors.As(err, &e) {
		return source.Errorf(src, e.Off, "%s", e.Msg)
	}
	return err
}
