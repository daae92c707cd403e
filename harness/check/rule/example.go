package rule

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"
)

// Example shows the fault that a rule finds, and how it is put right. It is a txtar file,
// testdata/a058-turn-not-closed.txtar beside the rule: its comment is one sentence of what happens,
// and its files are these, in this order:
//
//	bad.jinja          a template with the fault
//	flags              the flags of `assay check` without which the rule does not look, one a line
//	conversation.json  a request with messages, tools and variables, as OpenAI's API has it
//	prompt             a part of the prompt that bad.jinja writes for the request, which shows the
//	                   damage; or error, a part of the error with which it refuses it
//	finding            the rule and the line in bad.jinja: A058:7; the rule alone where the finding
//	                   is about the template as a whole
//	good.jinja         the template without the fault
//
// Most examples have no flags. The conversation and its prompt are left out where no prompt shows
// the fault. A rule about models has folders in place of the templates: bad/tokenizer_config.json
// and the other files of a model, then those of good/. A GGUF is written as the JSON object of its
// keys.
type Example struct {
	Summary      string
	Bad, Good    []File
	Flags        []string
	Conversation string // "" where no prompt shows the fault
	Prompt       string // "" where the template refuses the conversation
	Error        string
	Rule         string
	Line         int // 0: the template as a whole
}

// File is a template, or a file of a model's folder.
type File struct {
	Name string // in the folder; "" for a template
	Text string
}

// IsModel reports whether an example is about a model's folder.
func (e *Example) IsModel() bool { return e.Bad[0].Name != "" }

// exampleFiles matches the names of an example's files, in their order.
var exampleFiles = regexp.MustCompile(`^(bad\.jinja |(bad/\S+ )+)(flags )?` +
	`(conversation\.json (prompt|error) )?finding (good\.jinja |(good/\S+ )+)$`)

var exampleFinding = regexp.MustCompile(`^([A-Z]\d{3})(?::([1-9]\d*))?$`)

// ParseExample reads an example.
func ParseExample(text []byte) (*Example, error) {
	a := txtar.Parse(text)
	e := &Example{Summary: strings.TrimSpace(string(a.Comment))}
	if e.Summary == "" {
		return nil, fmt.Errorf("the comment is empty; expected one sentence of what happens")
	}
	names := ""
	for _, f := range a.Files {
		names += f.Name + " "
	}
	if !exampleFiles.MatchString(names) {
		return nil, fmt.Errorf("the files %s; expected bad.jinja (or files in bad/), flags "+
			"where the rule needs some, conversation.json with prompt or error, finding, "+
			"good.jinja (or files in good/)", strings.TrimSpace(names))
	}
	for _, f := range a.Files {
		text := string(bytes.TrimSuffix(f.Data, []byte("\n")))
		if text == "" {
			return nil, fmt.Errorf("%s is empty", f.Name)
		}
		switch folder, name, _ := strings.Cut(f.Name, "/"); folder {
		case "bad.jinja", "bad":
			e.Bad = append(e.Bad, File{name, text})
		case "good.jinja", "good":
			e.Good = append(e.Good, File{name, text})
		case "flags":
			e.Flags = strings.Fields(text)
		case "conversation.json":
			e.Conversation = text
		case "prompt":
			e.Prompt = text
		case "error":
			e.Error = text
		case "finding":
			m := exampleFinding.FindStringSubmatch(text)
			if m == nil {
				return nil, fmt.Errorf("finding: %q; expected a rule and a line, such as A058:7",
					text)
			}
			e.Rule = m[1]
			e.Line, _ = strconv.Atoi(m[2])
		}
	}
	return e, nil
}

// Markdown is the example as a part of its rule's page.
func (e *Example) Markdown() string {
	block := func(kind, text string) string {
		return fmt.Sprintf("\n```%s\n%s\n```\n", kind, text)
	}
	text := fold("\n*Example:* "+e.Summary+"\n") + block("diff", e.change())
	if e.Flags != nil {
		text += fold("\n`assay check " + strings.Join(e.Flags, " ") + "` finds it.\n")
	}
	switch {
	case e.Conversation == "":
		return text
	case e.Error != "":
		return text + "\nWithout the change the request\n" + block("json", e.Conversation) +
			"\nends in the error\n" + block("text", e.Error)
	}
	return text + "\nWithout the change the request\n" + block("json", e.Conversation) +
		"\nhas in its prompt\n" + block("text", e.Prompt)
}

// change returns the lines in which the good files differ from the bad ones; those of a model's
// folder have their file's name above them.
func (e *Example) change() string {
	text := func(all []File, name string) []string {
		for _, f := range all {
			if f.Name == name {
				return strings.Split(f.Text, "\n")
			}
		}
		return nil
	}
	var names []string
	for _, f := range slices.Concat(e.Bad, e.Good) {
		if !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	var lines []string
	for _, name := range names {
		bad, good := text(e.Bad, name), text(e.Good, name)
		if slices.Equal(bad, good) {
			continue
		}
		if name != "" {
			lines = append(lines, "@@ "+name+" @@")
		}
		lines = append(lines, changed(bad, good)...)
	}
	return strings.Join(lines, "\n")
}

// around is how many equal lines stand before and after the change of an example.
const around = 2

// changed returns the lines in which a good file differs from the bad one.
func changed(bad, good []string) (lines []string) {
	from := 0
	for from < len(bad) && from < len(good) && bad[from] == good[from] {
		from++
	}
	end := 0 // how many equal lines stand at the end
	for end < min(len(bad), len(good))-from && bad[len(bad)-1-end] == good[len(good)-1-end] {
		end++
	}
	add := func(sign string, some []string) {
		for _, l := range some {
			lines = append(lines, sign+l)
		}
	}
	add(" ", bad[max(0, from-around):from])
	add("-", bad[from:len(bad)-end])
	add("+", good[from:len(good)-end])
	add(" ", bad[len(bad)-end:min(len(bad), len(bad)-end+around)])
	return lines
}
