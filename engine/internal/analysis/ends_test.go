package analysis_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/internal/analysis"
)

// TestEndBeforeNext checks that the end of answers is found where it is written before a further
// message alone, and that nothing else which stands there is taken for one.
func TestEndBeforeNext(t *testing.T) {
	const turns = `{%- for m in messages %}{% if m.role == 'assistant' %}BOT{{ m.content }}{% if not loop.last %}END{% endif %}` +
		`{% else %}USER{{ m.content }}OVER{% endif %}{% endfor %}{% if add_generation_prompt %}HEAD{% endif %}`
	const rules = `<|sys|>Be kind.<|over|>`
	for _, tt := range []struct{ name, first, user, over, bot, end, want string }{
		{"an end of answers alone", "", "<|you|>", "", "<|bot|>", "<|over|>", "<|over|>"},
		{"one that ends every turn", "", "<|you|>", "<|over|>", "<|bot|>", "<|over|>", "<|over|>"},
		{"one that ends the text before the first question", rules, "<|you|>", "", "<|bot|>", "<|done|>",
			"<|done|>"},
		{"one that ends that text as well", rules, "<|you|>", "<|over|>", "<|bot|>", "<|over|>", "<|over|>"},
		{"another end than that of the last answer", rules, "<|you|>", "<|over|>", "<|bot|>",
			"<|over|>{% else %}<|stop|>", "<|stop|> <|over|>"},
		{"the end of a part", rules, "<|you|>", "<|over|>", "<|bot|>{% if m.thinking %}<|hm|>" +
			"{{ m.thinking }}<|over|><|so|>{% endif %}", "<|over|>{% else %}<|stop|>", "<|stop|>"},
		{"headers of one marker and a word", rules, "<|s|>you ", "", "<|s|>bot ", "", ""},
		{"words between brackets", rules, "<s>you</s>", "", "<s>bot</s>", "", ""},
		{"white space", "", "\nYou: ", "", "\nBot: ", "\n", ""},
		{"no header", "", "", "<|n|>", "", "<|n|>", ""},
	} {
		head, _, _ := strings.Cut(tt.bot, "{")
		a := analyze(t, tt.first+strings.NewReplacer("USER", tt.user, "OVER", tt.over,
			"BOT", tt.bot, "END", tt.end, "HEAD", head).Replace(turns))
		want := append(strings.Fields(tt.want), "</s>")
		if !slices.Equal(a.Format.End, want) {
			t.Errorf("%s: ends %q, want %q\n%v", tt.name, a.Format.End, want, a.Evidence)
		}
	}
}

// TestAssumedIDs checks that an id made up by the probe, since the template writes any, is no
// observation.
func TestAssumedIDs(t *testing.T) {
	a := analyze(t, framed("", each+`<call>{{ c.id }}<args>{{ c.function.arguments|tojson }}</call>`+eachEnd, ""))
	if len(a.Format.Calls) != 1 {
		t.Fatal(a.Format, a.Evidence)
	}
	want := analysis.Ground{Field: "head", Comparison: "T7", Basis: format.Assumed}
	if !slices.Contains(a.Grounds(), want) {
		t.Errorf("%v, want %v", a.Grounds(), want)
	}
}
