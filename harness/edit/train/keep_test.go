package train_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/edit/train"
)

// TestKeep mends small templates that drop, each in its way, text that they have written.
func TestKeep(t *testing.T) {
	const (
		user = `{%- for m in messages %}{%- if m.role == 'assistant' %}`
		rest = `{%- else %}{{- '<u>' ~ m.content ~ '</u>' }}{%- endif %}{%- endfor %}` +
			`{%- if add_generation_prompt %}`
	)
	for _, c := range []struct{ name, text, want string }{
		{"a block in an operand", user + `{{- '<a>' ~ m.content ~ '</a>' }}` + rest +
			`{{- '<a><think>' }}{%- endif %}`,
			`{{- '<a>' ~ ('<think>' if preserve_thinking else '') ~ m.content ~ '</a>' }}`},
		{"a block of statements", user + `{{- '<a>' }}{{- m.content ~ '</a>' }}` + rest +
			`{{- '<a>' }}{%- if enable_thinking is false %}{{- '<t></t>' }}{%- endif %}{%- endif %}`,
			`{{- '<a>' }}{{ (('<t></t>' if enable_thinking is false else '') if preserve_thinking else '') }}`},
		{"reasoning of earlier turns", user +
			`{{- '<a>' }}{{- '<t>' ~ m.reasoning_content ~ '</t>' if m.reasoning_content ` +
			`and (false if not loop.last else true) }}{{- (m.content or '') ~ '</a>' }}` +
			rest + `{{- '<a>' }}{%- endif %}`,
			`and (false if (not preserve_thinking and (not loop.last)) else true) }}`},
	} {
		kept, err := train.Keep(subject.New("t.jinja", c.text), 1)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if !strings.Contains(kept.Mended.Text, c.want) {
			t.Errorf("%s: got  %s\nwant %s", c.name, kept.Mended.Text, c.want)
		}
	}
}

// drops are the templates of the corpus that drop text which no patch keeps: they drop it without a
// condition, or render an answer that goes on in an open turn unlike its prompt.
var drops = []string{"apertus", "apriel-1.6", "deepseek-v3.1", "kimi-k2-thinking", "mistral-nemo",
	"phi-3.5", "rwkv-world", "ling-3", "functionary-3.2", "laguna-xs"}

// TestKeepCorpus mends the corpus' templates, and tries each patch on conversations that it has not
// seen.
func TestKeepCorpus(t *testing.T) {
	var lock sync.Mutex
	mended := 0
	t.Run("template", func(t *testing.T) {
		own(t, func(name string, src subject.Source) {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				kept, err := train.Keep(src, seen)
				if errors.Is(err, train.ErrDrops) != slices.Contains(drops, name) {
					t.Error(err)
				}
				if err == nil {
					unseenKept(t, src, kept)
					lock.Lock()
					defer lock.Unlock()
					mended++
				}
			})
		})
	})
	t.Logf("%d templates keep what they dropped", mended)
}

// unseenKept tries a patch on conversations of another seed: without the switch they render as
// before, and with it every turn is kept, and no fewer prompts.
func unseenKept(t *testing.T, src subject.Source, kept *train.Keeping) {
	t.Helper()
	was, err := src.Compile()
	if err != nil {
		t.Fatal(err)
	}
	is, err := src.WithText(kept.Mended.Text).Compile()
	if err != nil {
		t.Fatal(err)
	}
	inputs := train.Inputs(was, unseen)
	renderAlike(t, was, is, inputs)
	before, after := train.Prefixes(was, inputs), train.Prefixes(is, switchedOn(inputs))
	if after.Turns.First != nil {
		t.Errorf("with the switch: %s", after.Turns.First)
	}
	if after.Prompts.Broken > before.Prompts.Broken {
		t.Errorf("%d prompts are broken, %d before: %s", after.Prompts.Broken,
			before.Prompts.Broken, after.Prompts.First)
	}
}

// switchedOn sets the switch in every conversation.
func switchedOn(inputs []chattemplate.Input) (all []chattemplate.Input) {
	for _, in := range inputs {
		in.Kwargs = append(slices.Clip(in.Kwargs),
			ordered.MemberOf(train.Switch, ordered.Boolean(true)))
		all = append(all, in)
	}
	return all
}
