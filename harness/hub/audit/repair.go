package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/edit/fix"
	"github.com/goassay/assay/harness/report/safefile"
)

// Saved is added to the name of a file for the copy of it that is kept.
const Saved = ".orig"

// Repair mends the known faults of a template that `assay fix` mends, and says what it wrote; ""
// where there is nothing that it can mend.
//
// A template's file and a JSON file are written in place, and the file as it was is kept beside it
// under a name with [Saved]. Of a model file a copy is made. A file that a cache names by its
// digest, or that is a link into such a cache, is never written, and a template of a server or of
// the Hub has none: it goes into overrides, and the answer has the flags with which engines take
// it.
func Repair(ctx context.Context, src subject.Source, known []Match, l engine.Limits,
	overrides string) (string, error) {
	var only []string
	for _, m := range known {
		if m.Template.Fixable {
			only = append(only, m.Template.Rule)
		}
	}
	if only == nil {
		return "", nil
	}
	m := fix.Mend(ctx, src, fix.Options{Only: only, Limits: l}, check.Options{})
	if len(m.Patches) == 0 {
		return "", m.Unjudged
	}
	real, err := filepath.EvalSymlinks(src.File)
	switch {
	case errors.Is(err, fs.ErrNotExist): // it is a server's, or stands on the Hub
		return override(src, m.Text, overrides, "it stands in no file here")
	case err != nil:
		return "", err
	case isBlob(real):
		return override(src, m.Text, overrides, "a cache names the file by its digest, so it stays")
	case isGGUF(real):
		return copied(ctx, src, m.Text)
	}
	was, err := os.ReadFile(src.File)
	if err != nil {
		return "", err
	}
	is, err := m.Into(string(was))
	if err != nil {
		return "", err
	}
	return replaced(src.File, string(was), is)
}

// replaced writes a file's new text, after its old one under another name: the first that is free,
// or has that text.
func replaced(name, was, is string) (string, error) {
	saved := name + Saved
	for i := 2; ; i++ {
		kept, err := os.ReadFile(saved)
		if errors.Is(err, fs.ErrNotExist) || err == nil && string(kept) == was {
			break
		}
		saved = fmt.Sprint(name, Saved, i)
	}
	if err := safefile.Write(saved, safefile.Text(was)); err != nil {
		return "", err
	}
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if err := safefile.Write(name, safefile.Text(is)); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s is mended; as it was: %s", name, saved), os.Chmod(name,
		info.Mode().Perm())
}

// ending is that of a model file, with the number of a part.
var ending = regexp.MustCompile(`(-\d{5}-of-\d{5})?\.[^.]*$`)

// copied writes a copy of a model file with another template.
func copied(ctx context.Context, src subject.Source, text string) (string, error) {
	out := ending.ReplaceAllString(src.File, ".mended$0")
	_, named, _ := strings.Cut(strings.TrimPrefix(src.Name, src.File), "#")
	if named == modeldir.Default {
		named = ""
	}
	if _, err := os.Lstat(out); err == nil {
		return out + " is there already; remove it for another mended copy", nil
	}
	if err := gguf.RetemplateFile(ctx, src.File, out, text,
		gguf.RetemplateOptions{Name: named}); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s is a mended copy", out), nil
}

// override writes the template into a folder and says why, and how engines are given it.
func override(src subject.Source, text, dir, why string) (string, error) {
	name := src.Name
	if _, err := os.Lstat(src.File); err == nil {
		name = filepath.Base(filepath.Dir(src.File)) + "-" + filepath.Base(src.Name)
	}
	clean := strings.Trim(strings.Map(func(r rune) rune {
		if strings.ContainsRune("/\\:#", r) {
			return '-'
		}
		return r
	}, strings.TrimSuffix(name, ".jinja")), "-.")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	out := filepath.Join(dir, cmp.Or(clean, "template")+".jinja")
	if err := safefile.Write(out, safefile.Text(text)); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s is the mended template of %s: %s; llama-server --jinja "+
		"--chat-template-file %s, vllm serve --chat-template %s", out, src.Name, why, out, out), nil
}
