package script

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/corpus/families"
)

// Read reads a script. Of several outputs in a script each `parse` gives a case.
func Read(fsys fs.FS, file string) ([]families.Case, error) {
	archive, err := open(fsys, file)
	if err != nil {
		return nil, err
	}
	r := reader{files: map[string]string{}, messages: map[string]chat.Message{}}
	for _, f := range archive.Files {
		r.files[f.Name] = strings.TrimSuffix(string(f.Data), "\n")
	}
	r.current.Name = strings.TrimSuffix(path.Base(file), path.Ext(file))
	for line := range strings.Lines(string(archive.Comment)) {
		r.line++
		if err := r.command(strings.TrimRight(line, "\n")); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, r.line, err)
		}
	}
	if len(r.cases) == 0 && r.current.HasPrompt {
		r.cases = append(r.cases, r.current)
	}
	for i := range r.cases {
		r.cases[i].Number = i
	}
	return r.cases, nil
}

// ReadAll reads scripts, one after the other.
func ReadAll(fsys fs.FS, files []string) (all []families.Case, err error) {
	for _, file := range files {
		cases, err := Read(fsys, file)
		if err != nil {
			return nil, err
		}
		all = append(all, cases...)
	}
	return all, nil
}

// maxOutputs bounds the outputs of a script's cases together, in bytes: one file may be the output
// of many cases.
const maxOutputs = 16 << 20

type reader struct {
	files    map[string]string       // without the line feed at the end
	messages map[string]chat.Message // of the files that were read as one
	about    []string
	outputs  int // bytes of the cases'
	line     int
	current  families.Case
	cases    []families.Case
}

func (r *reader) command(line string) (err error) {
	if about, ok := strings.CutPrefix(line, "#"); ok {
		if r.current.Family == "" {
			r.about = append(r.about, strings.TrimSpace(about))
		}
		return nil
	}
	s, err := readLine(line)
	if err != nil || len(s.Args) == 0 || s.Negated || len(s.Conditions) > 0 {
		return err
	}
	args := s.Args
	switch s.Name {
	case "template":
		if r.current.Family == "" {
			r.current.About = strings.TrimSpace(strings.Join(r.about, " "))
		}
		r.current.Family, r.current.Template = args[0], ""
		if strings.HasSuffix(args[0], ".jinja") {
			r.current.Template, err = r.text(args[0])
		}
	case "fallback":
		r.current.Fallbacks = args
	case "request":
		r.current.Request, err = r.json(args[0])
	case "prompt":
		r.current.Prompt, err = r.text(args[0])
		r.current.HasPrompt = true
	case "parse":
		err = r.parse(args)
	case "finish":
		if n := len(r.cases); n > 0 {
			r.cases[n-1].Finish = chat.FinishReason(args[0])
		}
	case "roundtrip":
		c := r.current
		c.Roundtrip = true
		c.Message, err = r.message(args[0])
		r.cases = append(r.cases, c)
	case "accept":
		if text, err := r.text(args[0]); err == nil {
			for i := range r.cases {
				r.cases[i].Accepts = r.cases[i].Accepts || r.cases[i].Output == text
			}
		}
	}
	return err
}

func (r *reader) parse(args []string) (err error) {
	c := r.current
	if args[0] == "-cut" {
		c.Reason, args = chat.FinishLength, args[1:]
	}
	if len(args) != 2 {
		return fmt.Errorf("usage: parse [-cut] OUTPUT FILE")
	}
	if c.Output, err = r.text(args[0]); err != nil {
		return err
	}
	if r.outputs += len(c.Output); r.outputs > maxOutputs {
		return fmt.Errorf("the outputs of the script's cases come to more than %d bytes", maxOutputs)
	}
	c.Message, err = r.message(args[1])
	c.Parsed = true
	r.cases = append(r.cases, c)
	return err
}

func (r *reader) message(name string) (chat.Message, error) {
	if m, ok := r.messages[name]; ok {
		return m, nil
	}
	v, err := r.json(name)
	if err != nil {
		return chat.Message{}, err
	}
	m, err := readMessage(v)
	if err == nil {
		r.messages[name] = m
	}
	return m, err
}

func (r *reader) text(name string) (string, error) {
	if text, ok := r.files[name]; ok {
		return text, nil
	}
	return "", fmt.Errorf("the script has no file %s", name)
}

func (r *reader) json(name string) (ordered.Value, error) {
	text, err := r.text(name)
	if err != nil {
		return ordered.Value{}, err
	}
	v, err := ordered.ParseString(text)
	if e, ok := err.(*source.Error); ok {
		return v, source.Errorf(source.New(name, text), e.Off, "%s", e.Msg)
	}
	return v, nil
}
