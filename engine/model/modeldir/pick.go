package modeldir

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/model/gguf"
	"github.com/goassay/assay/engine/ordered"
)

// The loaders.
const (
	Transformers          = "transformers"
	TransformersProcessor = "transformers processor"
	VLLM                  = "vLLM"
	LlamaCPP              = "llama.cpp"
)

// Conversion stands, in [Pick].Of, for the model file that a converter would make of the folder.
const Conversion = "after conversion"

// Pick is a loader's choice from a folder.
type Pick struct {
	Loader string
	Of     string // the model file that it is given, or [Conversion]; "": the folder
	Plain  Choice // for requests without tools
	Tools  Choice // for requests with tools
}

// String returns the loader and its argument: "llama.cpp (m.gguf)".
func (p Pick) String() string {
	if p.Of == "" {
		return p.Loader
	}
	return p.Loader + " (" + p.Of + ")"
}

// Choice is the template that a loader takes.
type Choice struct {
	Template int    // index into [Folder].Templates; -1: none
	Why      string // the rule after it; where there is none, the consequence
}

// set holds the templates between which a loader chooses, by name. Empty is nil.
type set map[string]int

// add adds the templates of a file. Of several of one name the last wins.
func (s set) add(f *Folder, file string) {
	for i, t := range f.Templates {
		if t.File == file {
			s[t.Name] = i
		}
	}
}

// names are the names in the set, for a message.
func (s set) names() string {
	var names []string
	for name := range s {
		names = append(names, fmt.Sprintf("%q", name))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// Picks returns each loader's choice, without options that name a template.
func (f *Folder) Picks() []Pick {
	var picks []Pick
	tokenizer, why := f.tokenizerSet()
	if f.hasFiles() {
		plain, tools := byName(tokenizer, why)
		picks = append(picks, Pick{Transformers, "", plain, tools})
		processor := Choice{Template: -1}
		if f.Processor {
			processor = f.processor()
			picks = append(picks, Pick{TransformersProcessor, "", processor, processor})
		}
		if processor.Template >= 0 {
			plain = Choice{processor.Template, "without tools the processor's template goes " +
				"before the tokenizer's"}
		}
		picks = append(picks, Pick{VLLM, "", plain, tools})
	}
	for _, file := range f.Models {
		s := set{}
		s.add(f, file)
		if len(picks) == 0 || picks[0].Of != "" {
			only := alone(s)
			picks = append(picks, Pick{Transformers, file, only, only},
				Pick{VLLM, file, only, only})
		}
		picks = append(picks, Pick{LlamaCPP, file, llama(s, false), llama(s, true)})
	}
	if f.configured || len(f.Models) == 0 { // else there is nothing to convert
		s := f.converted()
		picks = append(picks, Pick{LlamaCPP, Conversion, llama(s, false), llama(s, true)})
	}
	return picks
}

// hasFiles reports whether there is something beside model files, or nothing at all.
func (f *Folder) hasFiles() bool {
	return f.configured || len(f.Models) == 0 ||
		slices.ContainsFunc(f.Templates,
			func(t Template) bool { return !slices.Contains(f.Models, t.File) })
}

// tokenizerSet holds the templates of transformers' tokenizers: the files that are templates, and
// only where there is none of them the configuration. According to the documentation the files are
// merged into the configuration's templates; version 5.23.0 drops those. A default one in
// additional_chat_templates goes before chat_template.jinja.
func (f *Folder) tokenizerSet() (set, string) {
	files, why := set{}, ""
	for i, t := range f.Templates {
		if t.File == JinjaFile || strings.HasPrefix(t.File, AdditionalDir+"/") {
			files[t.Name] = i
		}
	}
	config := set{}
	config.add(f, f.config)
	switch {
	case len(files) == 0:
		return config, ""
	case len(config) > 0:
		why = "files with templates go before " + TokenizerConfig + ", and replace all that it has"
	}
	return files, why
}

// byName is the choice between named templates: "tool_use" for tools where there is one, else
// "default".
func byName(s set, why string) (plain, tools Choice) {
	at, ok := s[Default]
	switch {
	case ok:
		plain = Choice{at, why}
	case len(s) == 0:
		plain = Choice{-1, "there is none: requests are refused"}
	default:
		plain = Choice{-1, fmt.Sprintf("none is named %q, only %s: "+
			"requests are refused", Default, s.names())}
	}
	if at, ok := s[gguf.ToolUse]; ok {
		return plain, Choice{at, or(why, fmt.Sprintf("%q goes before %q where "+
			"there are tools", gguf.ToolUse, Default))}
	}
	return plain, plain
}

// processor is the choice of transformers' processors, with tools or without: the default one of
// their own configuration, of chat_template.json, or of the files that are templates; never the
// tokenizer's.
func (f *Folder) processor() Choice {
	for _, file := range []string{ProcessorConfig, ProcessorTemplate} {
		s := set{}
		s.add(f, file)
		if len(s) == 0 {
			continue
		}
		if why := f.Conflict(); why != "" && file == ProcessorTemplate {
			return Choice{-1, why}
		}
		plain, _ := byName(s, "a processor's own files go before the others")
		return plain
	}
	files := set{}
	for i, t := range f.Templates {
		if t.File == JinjaFile || strings.HasPrefix(t.File, AdditionalDir+"/") {
			if _, ok := files[t.Name]; !ok {
				files[t.Name] = i
			}
		}
	}
	plain, _ := byName(files, "")
	if len(files) == 0 {
		plain.Why = "there is none of its own: the tokenizer's has to be asked for"
	}
	return plain
}

// Conflict reports which files exclude each other; "" where none do. A processor that has templates
// of both ages fails to load.
func (f *Folder) Conflict() string {
	has := func(prefix string) bool {
		return slices.ContainsFunc(f.Templates,
			func(t Template) bool { return strings.HasPrefix(t.File, prefix) })
	}
	if has(ProcessorTemplate) && has(AdditionalDir+"/") {
		return ProcessorTemplate + " and " + AdditionalDir + " exclude each other: transformers " +
			"fails to load the processor"
	}
	return ""
}

// alone is the choice of loaders that read a model file's default template and no other.
func alone(s set) Choice {
	if at, ok := s[Default]; ok {
		return Choice{at, "of a model file only the default template is read"}
	}
	return Choice{-1, "of a model file only the default template is read, and there is none: " +
		"requests are refused"}
}

// llama is the choice of llama.cpp between a model file's templates.
func llama(s set, tools bool) Choice {
	at, ok := s[Default]
	variant, hasVariant := s[gguf.ToolUse]
	switch {
	case tools && hasVariant:
		return Choice{variant, fmt.Sprintf("%q goes before %q where "+
			"there are tools", gguf.ToolUse, Default)}
	case ok:
		return Choice{at, ""}
	case hasVariant:
		return Choice{variant, "there is no default one"}
	}
	return Choice{-1, "there is none: a built-in template without tools is used, which is " +
		"not the model's"}
}

// converted is the choice of llama.cpp's converter: the configuration first, then the files that
// are templates, where the one in the folder is there, then the processor's. It looks for none
// without a configuration, and a key of another type than text or list ends the search.
func (f *Folder) converted() set {
	s := set{}
	if kind, ok := f.kinds[f.config]; ok {
		if kind == ordered.String || kind == ordered.Array {
			s.add(f, f.config)
		}
		return s
	}
	if !f.configured {
		return s
	}
	if at := f.Find(JinjaFile); at >= 0 {
		s[Default] = at
		for i, t := range f.Templates {
			if strings.HasPrefix(t.File, AdditionalDir+"/") {
				s[t.Name] = i
			}
		}
		return s
	}
	if kind := f.kinds[ProcessorTemplate]; kind == ordered.String || kind == ordered.Array {
		s.add(f, ProcessorTemplate)
	}
	return s
}
