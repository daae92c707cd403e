package train_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goassay/assay/corpus"
	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/corpus/families"
	"github.com/goassay/assay/harness/corpus/script"
	"github.com/goassay/assay/harness/edit/train"
)

// TestTag tags a template that writes all roles alike: the answers get a branch of their own,
// chains of texts are divided, and the bytes stay.
func TestTag(t *testing.T) {
	const text = "{{ bos_token }}{% for m in messages %}\n" +
		"{{- '<|' + m['role'] + '|>\\n' + m['content'] + '<|end|>\\n' }}\n{%- endfor %}" +
		"{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}"
	const want = "{{ bos_token }}{% for m in messages %}\n" +
		"{{- '<|' }}{{ '' + m['role'] }}{{ '|>\\n' }}" +
		"{%+ if m['role'] == 'assistant' +%}{% generation %}{{ '' + m['content'] }}{{ '<|end|>' }}" +
		"{% endgeneration %}{{ '\\n' }}{%+ else +%}{{ '' + m['content'] }}{{ '<|end|>\\n' }}{%+ endif +%}" +
		"\n{%- endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}"
	tagged, err := train.Tag(subject.New("t.jinja", text), 1)
	if err != nil {
		t.Fatal(err)
	}
	if tagged.Text != want {
		t.Errorf("got  %s\nwant %s", tagged.Text, want)
	}
	again, err := train.Tag(subject.New("t.jinja", tagged.Text), 1)
	if err != nil || again.Text != tagged.Text || !again.Tags {
		t.Errorf("a tagged template is tagged again: %v\n%s", err, again.Text)
	}
}

// TestRefused reports which place cannot be divided.
func TestRefused(t *testing.T) {
	const text = "{% for m in messages %}" +
		"{% if m.role == 'assistant' and loop.index > 2 %}{{ '<|more|>' }}{% endif %}" +
		"{% if m.role != 'assistant' or loop.index < 3 %}{{ '<|' ~ m.role ~ '|>' }}{% endif %}" +
		"{{ m.content }}{% if loop.last %}{{ '<|end|>' }}{% else %}{{ '<|' }}{% endif %}" +
		"{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
	_, err := train.Tag(subject.New("t.jinja", text), 1)
	if !errors.Is(err, train.ErrUntaggable) || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("got %v, want an error about line 1", err)
	}
}

// TestLimits gives a template fewer and fewer steps: the results of Tag, Keep and Look are those
// without a bound, or the error that names the limit.
func TestLimits(t *testing.T) {
	const text = `{%- for m in messages %}{%- if m.role == 'assistant' %}` +
		`{{- '<a>' ~ m.content ~ '</a>' }}{%- else %}{{- '<u>' ~ m.content ~ '</u>' }}` +
		`{%- endif %}{%- endfor %}{%- if add_generation_prompt %}{{- '<a><think>' }}{%- endif %}`
	src := subject.New("t.jinja", text)
	for name, run := range map[string]func(subject.Source) (string, error){
		"tag": func(src subject.Source) (string, error) {
			tagged, err := train.Tag(src, 1)
			if err != nil {
				return "", err
			}
			return tagged.Text, nil
		},
		"keep": func(src subject.Source) (string, error) {
			kept, err := train.Keep(src, 1)
			if err != nil {
				return "", err
			}
			return kept.Mended.Text, nil
		},
		"look": func(src subject.Source) (string, error) {
			report, err := train.Look(src, nil, 1)
			if err != nil {
				return "", err
			}
			return report.String(), report.Err
		},
	} {
		want, err := run(src)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		ended, whole := 0, 0
		for steps := int64(1 << 24); steps > 64; steps /= 3 {
			got, err := run(src.Limited(t.Context(), engine.Limits{TotalSteps: steps}))
			switch {
			case err == nil && got == want:
				whole++
			case !errors.Is(err, engine.ErrExhausted) || !strings.Contains(err.Error(), "steps"):
				t.Errorf("%s with %d steps: got %q, %v", name, steps, got, err)
			default:
				ended++
			}
		}
		if ended == 0 || whole == 0 {
			t.Errorf("%s: %d runs end in the limit, and %d do not", name, ended, whole)
		}
	}
}

// untaggable are the templates of the corpus whose model's text is written by places that write
// other text too, and cannot be divided.
var untaggable = map[string]bool{
	"apertus": true, "apriel-1.6": true, "command-r-plus": true, "gpt-oss": true,
	"rwkv-world": true,
	"solar-open": true,
}

// own calls a function for the corpus's own templates.
func own(t *testing.T, f func(name string, src subject.Source)) {
	t.Helper()
	loaded, err := families.Load(corpus.FS)
	if err != nil {
		t.Fatal(err)
	}
	suite := script.Suite{Corpus: loaded}
	for _, v := range suite.Variants() {
		src, err := suite.Source(t.Context(), v)
		if err != nil {
			t.Fatal(err)
		}
		f(v.Name, src)
	}
}

// openingTag is the pattern with which transformers and TRL look for the opening tag:
// render_jinja_template of transformers 5.23, has_generation_markers of trl 1.16.
var openingTag = regexp.MustCompile(`\{%-?\s*generation\s*-?%\}`)

// TestSpaces puts tags beside white space that a tag of its own spelling would take away. The
// rendering of each place is the text around it, so the bytes prove the spelling.
func TestSpaces(t *testing.T) {
	for name, answer := range map[string]string{
		"print":             "<|a|>{{ m.content }}<|end|>",
		"print on a line":   "<|a|>\n  {{ m.content }}\n<|end|>\n",
		"print with a sign": "<|a|>\n  {{- m.content -}}\n  <|end|>\n",
		"text on a line":    "<|a|>\n{{ '' }}\n  <b>{{ m.content }}\n  \n<|end|>\n\n",
		"condition":         "<|a|>\n  {% if true %}\n{{ m.content }}\n  {% endif %}\n  <|end|>",
		"condition with +":  "<|a|>\n  {%+ if true +%}\n{{ m.content }}\n  {%+ endif +%}\n <|end|>",
		"carriage returns":  "<|a|>\r\n  {{ m.content }}\r\n<|end|>\r\n",
		"loop":              "<|a|>\n \u00a0{% for _ in [1] %} {{ m.content }} {% endfor %}\n <|end|>",
		"all on lines":      "<|a|>\n{{ m.content }}\n<|end|>\n",
	} {
		t.Run(name, func(t *testing.T) {
			prompt, _, _ := strings.Cut(answer, "{")
			text := "{% for m in messages %}{% if m.role == 'assistant' %}" + answer +
				"{% else %}<|u|>{{ m.content }}<|end|>{% endif %}{% endfor %}" +
				"{% if add_generation_prompt %}" + prompt + "{{ '' }}{% endif %}"
			src := subject.New("t.jinja", text)
			tagged, err := train.Tag(src, 1)
			if err != nil {
				t.Fatal(err)
			}
			if !openingTag.MatchString(tagged.Text) ||
				strings.Contains(tagged.Text, "generation +") {
				t.Errorf("transformers does not see the tags of %s", tagged.Text)
			}
			was, err := src.Compile()
			if err != nil {
				t.Fatal(err)
			}
			is, err := src.WithText(tagged.Text).Compile()
			if err != nil {
				t.Fatal(err)
			}
			if n := renderAlike(t, was, is, train.Inputs(was, unseen)); n == 0 {
				t.Error("no conversation was rendered")
			}
		})
	}
}

// TestAfterResults tags templates that write the answer after a tool's result without a header: it
// is marked from its first byte, or its line is named.
func TestAfterResults(t *testing.T) {
	const template = `{% set ns = namespace(tool=false) %}{% for m in messages %}` +
		`{% if m.role == 'user' %}<|user|>{{ m.content }}{% set ns.tool = false %}{% endif %}` +
		`{% if m.role == 'tool' %}<result>{{ m.content }}</result>{% set ns.tool = true %}{% endif %}` +
		"{% if m.role == 'assistant' %}\n{% if not ns.tool %}<|assistant|>ONCE{% endif %}" +
		"{{ m.content or '' }}{% for c in m.tool_calls or [] %}\n" +
		`<call>{{ c.function.name }}:{{ c.function.arguments }}</call>{% endfor %}<|end|>` +
		`{% set ns.tool = false %}{% endif %}{% endfor %}` +
		`{% if add_generation_prompt %}PROMPT{% endif %}`
	request, err := ordered.ParseString(`[{"role": "user", "content": "Q"},
		{"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function":
		{"name": "look", "arguments": "{}"}}]},
		{"role": "tool", "content": "R"}, {"role": "assistant", "content": "SENTINEL"}]`)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		once, prompt string
		status       train.Status
	}{
		"the prompt has none either": {"", "{% if not ns.tool %}<|assistant|>{% endif %}",
			train.Placed},
		"the prompt has one": {"", "{% if ns.tool %}<end/>{% endif %}<|assistant|>", train.Partial},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.NewReplacer("ONCE", c.once, "PROMPT", c.prompt).Replace(template)
			src := subject.New("t.jinja", text)
			tagged, err := train.Tag(src, 1)
			if err != nil {
				t.Fatal(err)
			}
			if tagged.Status() != c.status {
				t.Errorf("status %q, want %q: %s", tagged.Status(), c.status, tagged.Text)
			}
			if c.status == train.Partial {
				if len(tagged.Untagged) == 0 || tagged.Untagged[0].Line != 2 {
					t.Errorf("untagged: %v, want line 2", tagged.Untagged)
				}
				return
			}
			is, err := src.WithText(tagged.Text).Compile()
			if err != nil {
				t.Fatal(err)
			}
			in := chattemplate.Input{Messages: request.Items()}
			out, err := is.ChatTemplate().Render(in)
			if err != nil {
				t.Fatal(err)
			}
			spans, err := train.Marked(is, in)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(spans); n != 2 || out[spans[1].From:spans[1].To] != "SENTINEL<|end|>" {
				t.Errorf("%v of %q are marked", spans, out)
			}
		})
	}
}

// TestCorpus tags the corpus's own templates: each renders the same bytes, and the tags mark the
// bytes that provenance marks, as Tag proves of every template that it returns.
func TestCorpus(t *testing.T) {
	own(t, func(name string, src subject.Source) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tagged, err := train.Tag(src, 1)
			if (err != nil) != untaggable[name] {
				t.Errorf("%v", err)
			}
			if err != nil {
				return
			}
			if tagged.Tested == 0 {
				t.Error("no conversation was rendered")
			}
			if !openingTag.MatchString(tagged.Text) {
				t.Error("transformers and TRL do not see the tags")
			}
		})
	})
}

// TestFolders tags the templates of folders that ASSAY_TRAIN names, and counts.
func TestFolders(t *testing.T) {
	files, _ := filepath.Glob(os.Getenv("ASSAY_TRAIN"))
	done, had := 0, 0
	for _, file := range files {
		src, err := subject.Open(file, nil)
		if err != nil {
			continue
		}
		tagged, err := train.Tag(src, 1)
		switch {
		case err != nil:
			t.Logf("%s: %.300s", filepath.Base(file), err)
		case tagged.Tags:
			had++
		default:
			done++
		}
	}
	t.Logf("%d of %d templates get tags, %d have them", done, len(files), had)
}

// python starts transformers, which [ci/tokens/run.sh] sets up; nil where it is not at hand.
func python(t *testing.T) *oracle {
	path := os.Getenv("ASSAY_PYTHON")
	if path == "" {
		return nil
	}
	cmd := exec.Command(path, filepath.Join("..", "..", "..", "ci", "tokens", "masks.py"))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	return &oracle{in, bufio.NewReader(out)}
}

type oracle struct {
	in  io.Writer
	out *bufio.Reader
}

// answer is transformers' rendering of a conversation, with its mask.
type answer struct {
	Text  string
	Spans [][2]int
	Error string
}

func (o *oracle) ask(
	t *testing.T,
	template string,
	tmpl *engine.Template,
	in chattemplate.Input,
) answer {
	t.Helper()
	vars := ordered.ObjectOf(
		ordered.MemberOf("bos_token", ordered.Str(tmpl.ChatTemplate().BOS)),
		ordered.MemberOf("eos_token", ordered.Str(tmpl.ChatTemplate().EOS)))
	for _, m := range in.Kwargs {
		vars = vars.With(m.Key, m.Value)
	}
	job := ordered.ObjectOf(ordered.MemberOf("template", ordered.Str(template)),
		ordered.MemberOf("messages", ordered.ArrayOf(in.Messages...)),
		ordered.MemberOf("tools", ordered.ArrayOf(in.Tools...)), ordered.MemberOf("vars", vars))
	if _, err := fmt.Fprintf(o.in, "%s\n", job.Append(nil, ordered.Compact)); err != nil {
		t.Fatal(err)
	}
	line, err := o.out.ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		t.Fatal(err)
	}
	return a
}

// joined returns spans as the positions that they cover.
func covers(n int, spans []train.Span) []bool {
	out := make([]bool, n)
	for _, s := range spans {
		for i := s.From; i < s.To; i++ {
			out[i] = true
		}
	}
	return out
}

// TestTransformers compares the tags of the corpus's own templates with transformers: the mask of
// return_assistant_tokens_mask has the bytes that the tags mark here, for every conversation that
// it renders.
func TestTransformers(t *testing.T) {
	o := python(t)
	if o == nil {
		return // make tokens runs it
	}
	same, families := 0, 0
	own(t, func(name string, src subject.Source) {
		tagged, err := train.Tag(src, 1)
		if err != nil {
			return
		}
		with := src.Source
		with.Text = tagged.Text
		tmpl, err := engine.Compile(t.Context(), with, engine.Options{Now: subject.Now})
		if err != nil {
			t.Fatal(err)
		}
		before := same
		for i, in := range train.Inputs(tmpl, 1) {
			marked, err := train.Marked(tmpl, in)
			if err != nil || i > 30 {
				continue
			}
			text, _ := tmpl.ChatTemplate().Render(in)
			a := o.ask(t, tagged.Text, tmpl, in)
			if a.Error != "" || a.Text != text {
				continue // its sandbox refuses it, or the date differs
			}
			var spans []train.Span
			for _, s := range a.Spans {
				spans = append(spans, train.Span{From: s[0], To: s[1]})
			}
			want, got := covers(len(text), marked), covers(len(text), spans)
			if fmt.Sprint(want) != fmt.Sprint(got) {
				t.Errorf("%s: conversation %d: transformers marks %v, the tags are "+
					"around %v of %q", name, i, spans, marked, text)
				break
			}
			same++
		}
		if same > before {
			families++
		}
	})
	t.Logf("%d conversations of %d templates have the same mask in transformers", same, families)
	if same < 300 || families < 40 {
		t.Errorf("%d conversations of %d templates were compared, want 300 of 40", same, families)
	}
}

// TestTRL compares the masks of the training templates that TRL has made by hand with provenance in
// the template that each was made of, wherever both render a conversation alike. They may differ in
// three parts: white space after the end of a turn or at the end of a header, and text that the
// generation prompt has already.
func TestTRL(t *testing.T) {
	o := python(t)
	if o == nil {
		return // make tokens runs it
	}
	out, err := exec.Command(
		os.Getenv("ASSAY_PYTHON"),
		"-c",
		"import importlib.util as u; print(u.find_spec('trl').submodule_search_locations[0])",
	).Output()
	if err != nil {
		t.Fatal(err)
	}
	twins, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(out)), "chat_templates",
		"*_training.jinja"))
	if err != nil || len(twins) == 0 {
		t.Fatalf("TRL has no twins: %v", err)
	}
	compared, alike := 0, 0
	// Where TRL counts otherwise, and why.
	reasons := map[string]string{
		"deepseek_r1_distill.jinja": "TRL marks the header, which the template writes in one " +
			"with the content",
		"deepseekv3.jinja": "TRL marks the header, which the template writes in one " +
			"with the content",
		"diffusion_gemma.jinja": "the template writes tools' results inside the answer's turn",
		"glm4moe.jinja": "TRL marks the header of the next turn, at which " +
			"the model stops",
		"muse_glimmer.jinja": "TRL marks the header of each addressed part",
		"phi3.jinja":         "TRL marks the end of the text after the last answer",
		"phi3_5.jinja":       "TRL marks the end of the text after the last answer",
	}
	for _, twin := range twins {
		base := strings.TrimSuffix(twin, "_training.jinja") + ".jinja"
		src, err := subject.Open(base, nil)
		if err != nil {
			continue
		}
		text, err := os.ReadFile(twin)
		if err != nil {
			t.Fatal(err)
		}
		tmpl, err := src.Compile()
		if err != nil {
			t.Errorf("%s: %v", base, err)
			continue
		}
		name, pairs, odd := filepath.Base(base), 0, 0
		for _, in := range train.Inputs(tmpl, 1) {
			r, err := train.Render(tmpl, in)
			if err != nil {
				continue
			}
			a := o.ask(t, string(text), tmpl, in)
			if a.Error != "" || a.Text != r.String {
				continue
			}
			pairs++
			if diff := differs(r, a); diff != "" {
				if odd++; reasons[name] == "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
		}
		compared += pairs
		alike += pairs - odd
		t.Logf("%s: %d conversations render alike, %d "+
			"are marked alike%s", name, pairs, pairs-odd, because(reasons[name]))
	}
	t.Logf("%d of %d conversations of %d twins are marked alike", alike, compared, len(twins))
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}

// differs names the place where a mask of TRL differs from ours in more than these parts.
func differs(r *train.Rendering, a answer) string {
	ours := covers(len(r.String), r.Written)
	either := covers(len(r.String), r.Held)
	for _, w := range r.Written { // white space after the end of a turn
		for i := w.To; i < len(r.String) && strings.IndexByte(" \t\r\n", r.String[i]) >= 0; i++ {
			either[i] = true
		}
	}
	var spans []train.Span
	for _, s := range a.Spans {
		spans = append(spans, train.Span{From: s[0], To: s[1]})
	}
	theirs := covers(len(r.String), spans)
	for i := range ours {
		if ours[i] != theirs[i] && !either[i] {
			who := "TRL alone marks"
			if ours[i] {
				who = "TRL does not mark"
			}
			return fmt.Sprintf("%s %q after %q", who, r.String[i:min(len(r.String), i+30)],
				r.String[max(0, i-40):i])
		}
	}
	return ""
}
