package subject

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/report/safefile"
)

// Found lists the contents of a folder that can be opened, each as a name for [OpenAll] or
// [OpenModel], in the order of the names.
type Found struct {
	Templates []string // Jinja files
	Models    []string // model folders, with their model files and configurations
}

// ErrNoTemplate is wrapped by the error of a folder in which nothing was found.
var ErrNoTemplate = errors.New("no chat template")

// maxFound bounds the list for one folder, so that a slip (/) does not check a disk.
const maxFound = 10_000

// skipped are folders in which nobody keeps templates of his own.
var skipped = []string{"node_modules", "__pycache__"}

// Find looks for templates in a folder and in those below it, except for hidden ones: model
// folders, and all other files named *.jinja. Links to folders are not followed,
// unless dir is one.
func Find(dir string) (Found, error) {
	var found Found
	argument := dir
	if info, err := os.Lstat(dir); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		dir += string(filepath.Separator) // which is the folder that it leads to
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == dir:
			return err
		case err != nil:
			return nil // an unreadable folder is not ours to judge
		case d.IsDir():
			name := d.Name()
			if path != dir && (strings.HasPrefix(name, ".") || slices.Contains(skipped, name)) {
				return fs.SkipDir
			}
			if name == modeldir.AdditionalDir && slices.Contains(found.Models, filepath.Dir(path)) {
				return fs.SkipDir // the model's
			}
			switch {
			case !HoldsModel(path):
			case path == dir:
				found.Models = append(found.Models, argument)
			default:
				found.Models = append(found.Models, onDisk(path))
			}
		case d.Type() != 0 && errors.Is(safefile.Check(path), safefile.ErrIrregular):
			// a pipe, or a link to one, would keep its reader
		case strings.EqualFold(filepath.Ext(path), ".jinja") && d.Name() != modeldir.JinjaFile:
			found.Templates = append(found.Templates, onDisk(path))
		}
		if len(found.Templates)+len(found.Models) > maxFound {
			return fmt.Errorf("%s holds more than %d templates; name a "+
				"folder below it", argument, maxFound)
		}
		return nil
	})
	if err == nil && len(found.Templates)+len(found.Models) == 0 {
		err = fmt.Errorf("%w in %s: looked for *.jinja, %s, %s, %s and *.gguf, in the folders "+
			"below it as well", ErrNoTemplate, argument,
			modeldir.TokenizerConfig, modeldir.ProcessorTemplate, modeldir.ProcessorConfig)
	}
	return found, err
}

// onDisk spells a path so that it is nothing but a file's: a folder may have a name that begins as
// the name of a model on the Hub does.
func onDisk(path string) string {
	first, _, _ := strings.Cut(filepath.ToSlash(path), "/")
	if filepath.VolumeName(path) == "" && strings.Contains(first, ":") {
		return "." + string(filepath.Separator) + path
	}
	return path
}

// marks are the files that make a folder a model's, beside model files and [modelConfig].
var marks = []string{modeldir.JinjaFile, modeldir.ProcessorTemplate, modeldir.ProcessorConfig,
	modeldir.TokenizerConfig}

// modelConfig makes a folder a model's where it names the model's type.
const modelConfig = "config.json"

// HoldsModel reports whether a folder itself has a file that makes it a model's.
func HoldsModel(dir string) bool {
	for _, name := range marks {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	files, err := fs.Glob(os.DirFS(dir), "*.[gG][gG][uU][fF]")
	return err == nil && len(files) > 0 || configured(dir)
}

// ModelOf returns the model folder that is judged by a file of this name, whether the file is there
// or was deleted; false where there is no such folder.
func ModelOf(file string) (dir string, ok bool) {
	dir, name := filepath.Dir(file), filepath.Base(file)
	switch {
	case filepath.Ext(name) == ".jinja" && filepath.Base(dir) == modeldir.AdditionalDir:
		dir = filepath.Dir(dir)
	case !slices.Contains(marks, name) && !strings.EqualFold(filepath.Ext(name), ".gguf") &&
		name != modelConfig && name != modeldir.TokensMap && name != modeldir.PreprocessorConfig:
		return "", false
	}
	return onDisk(dir), HoldsModel(dir)
}

// configured reports whether a folder has the config.json of a model, which names the model's type.
// Other programs have files of the name, too.
func configured(dir string) bool {
	name := filepath.Join(dir, modelConfig)
	if safefile.Check(name) != nil {
		return false
	}
	text, err := read(name, nil)
	if err != nil {
		return false
	}
	config, err := ordered.ParseString(text)
	return err == nil && !config.At("model_type").IsNull()
}

// String lists the findings, for people.
func (f Found) String() string {
	var parts []string
	for _, kind := range []struct {
		names     []string
		one, many string
	}{{f.Templates, "template", "templates"}, {f.Models, "model folder", "model folders"}} {
		const most = 3
		n := len(kind.names)
		if n == 0 {
			continue
		}
		word := kind.many
		if n == 1 {
			word = kind.one
		}
		text := fmt.Sprintf("%d %s (%s", n, word, strings.Join(kind.names[:min(n, most)], ", "))
		if n > most {
			text += ", ..."
		}
		parts = append(parts, text+")")
	}
	return strings.Join(parts, " and ")
}
