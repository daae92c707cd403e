package train_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/edit/train"
)

// The seeds of conversations: Tag and Prefixes work with those of one, and the test tries their
// results on those of another.
const (
	seen   = 1
	unseen = 2
)

// hubTally counts the outcomes of TestHub.
type hubTally struct {
	templates, broken     int // all, and those that do not compile
	tagged, had, refused  int
	partial               int // of those that are tagged: places are named where tags are missing
	alike                 int // renderings that are the same before and after
	turns, prompts        int // templates whose turns, or prompts, are proven to be kept
	refuted, steps, fresh int // breaks that were seen again; steps of both seeds
	kept                  int // that keep, after the switch, the text that they drop
}

func (h hubTally) String() string {
	return fmt.Sprintf("%d templates, %d do not compile: %d get tags, %d of them in part, %d have them, %d do not; %d "+
		"unseen renderings are alike; turns are kept in %d, prompts in %d, %d breaks were seen "+
		"again; %d steps, %d of them unseen; %d are mended to keep text", h.templates, h.broken, h.tagged, h.partial, h.had, h.refused,
		h.alike, h.turns, h.prompts, h.refuted, h.steps, h.fresh, h.kept)
}

// TestHub tags the templates of ASSAY_HUB and ASSAY_VENDOR. A tagged template must render every
// conversation as before, also those that Tag has not seen. Where Prefixes reports that turns or
// prompts are kept, they must be kept in conversations that it has not seen; where it reports a
// break, two renders must show it. `make train` runs it.
func TestHub(t *testing.T) {
	if os.Getenv("ASSAY_HUB") == "" {
		return
	}
	var files []string
	for _, set := range []string{"ASSAY_HUB", "ASSAY_VENDOR"} {
		found, err := filepath.Glob(filepath.Join(os.Getenv(set), "*.jinja"))
		if err != nil || len(found) == 0 && os.Getenv(set) != "" {
			t.Fatalf("no templates in %s: %v", os.Getenv(set), err)
		}
		files = append(files, found...)
	}
	var all hubTally
	var lock sync.Mutex
	t.Run("template", func(t *testing.T) {
		for _, file := range files {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".jinja"), func(t *testing.T) {
				t.Parallel()
				one := hubTemplate(t, file)
				lock.Lock()
				defer lock.Unlock()
				all.add(one)
			})
		}
	})
	t.Log(all)
}

func (h *hubTally) add(one hubTally) {
	h.templates, h.broken = h.templates+one.templates, h.broken+one.broken
	h.tagged, h.had, h.refused = h.tagged+one.tagged, h.had+one.had, h.refused+one.refused
	h.alike, h.turns, h.prompts = h.alike+one.alike, h.turns+one.turns, h.prompts+one.prompts
	h.refuted, h.steps, h.fresh = h.refuted+one.refuted, h.steps+one.steps, h.fresh+one.fresh
	h.kept, h.partial = h.kept+one.kept, h.partial+one.partial
}

// hubTemplate tries one template.
func hubTemplate(t *testing.T, file string) (one hubTally) {
	one.templates = 1
	src, err := subject.Open(file, nil)
	if err != nil {
		one.broken = 1
		return one
	}
	was, err := src.Compile()
	if err != nil {
		one.broken = 1
		return one
	}
	inputs := train.Inputs(was, unseen)
	switch tagged, err := train.Tag(src, seen); {
	case err != nil:
		one.refused = 1
		t.Logf("%.200v", err)
	case tagged.Tags:
		one.had = 1
	default:
		one.tagged = 1
		is, err := src.WithText(tagged.Text).Compile()
		if err != nil {
			t.Error(err)
			return one
		}
		one.alike = renderAlike(t, was, is, inputs)
		if !openingTag.MatchString(tagged.Text) {
			t.Error("transformers and TRL do not see the tags")
		}
		if tagged.Status() == train.Partial {
			one.partial = 1
		}
	}
	if kept, err := train.Keep(src, seen); err == nil {
		one.kept = 1
		unseenKept(t, src, kept)
	}
	old := train.Prefixes(was, train.Inputs(was, seen))
	fresh := train.Prefixes(was, inputs)
	one.steps = old.Turns.Steps + old.Prompts.Steps + fresh.Turns.Steps + fresh.Prompts.Steps
	one.fresh = fresh.Turns.Steps + fresh.Prompts.Steps
	for _, k := range []struct {
		name       string
		old, fresh train.Kept
		count      *int
	}{{"turns", old.Turns, fresh.Turns, &one.turns},
		{"prompts", old.Prompts, fresh.Prompts, &one.prompts}} {
		switch {
		case k.old.First == nil && k.fresh.First != nil:
			t.Errorf("%s are reported as kept, and are not: %s", k.name, k.fresh.First)
		case k.old.First == nil:
			*k.count = 1
		case !breaks(src, train.Inputs(was, seen), k.old.First, k.name == "prompts"):
			t.Errorf("%s: no render shows the break: %s", k.name, k.old.First)
		default:
			one.refuted++
		}
	}
	return one
}

// renderAlike counts the conversations that two templates render, or refuse, alike; any other is an
// error.
func renderAlike(t *testing.T, was, is *engine.Template, inputs []chattemplate.Input) (n int) {
	for i, in := range inputs {
		for _, in.Generate = range []bool{false, true} {
			want, wantErr := was.ChatTemplate().Render(in)
			got, gotErr := is.ChatTemplate().Render(in)
			if want != got || (wantErr == nil) != (gotErr == nil) {
				t.Errorf("conversation %d: %.300q (%v) becomes %.300q (%v)", i, want, wantErr,
					got, gotErr)
				continue
			}
			n++
		}
	}
	return n
}

// breaks reports whether two renders of a template that is compiled anew show a break: one of the
// messages before the one that was added, as a prompt or not, and one with it.
func breaks(src subject.Source, inputs []chattemplate.Input, b *train.Break, prompt bool) bool {
	t, err := src.Compile()
	if err != nil {
		return false
	}
	in := inputs[b.Conversation]
	with := in
	with.Messages = in.Messages[:b.Message+1]
	is, err := t.ChatTemplate().Render(with)
	if err != nil {
		return false
	}
	for k := b.Message; k > 0; k-- {
		in.Messages, in.Generate = in.Messages[:k], prompt
		was, err := t.ChatTemplate().Render(in)
		if err == nil && !strings.HasPrefix(is, was) && len(is) >= b.Off && len(was) >= b.Off &&
			is[:b.Off] == was[:b.Off] {
			return true
		}
	}
	return false
}
