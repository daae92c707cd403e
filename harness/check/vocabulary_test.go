package check_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/model/modeldir"
	"github.com/goassay/assay/harness/check"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/subject"
)

// The files of a model whose template and tokeniser agree.
const (
	agreed = `{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>
{{ m.content }}<|end|>
{% endfor %}{% if add_generation_prompt %}<|assistant|>
{% endif %}`
	agreedTokens = `{"added_tokens": [{"id": 0, "content": "<s>", "special": true},
 {"id": 1, "content": "<|end|>", "special": true}, {"id": 2, "content": "<|user|>", "special": true},
 {"id": 3, "content": "<|assistant|>", "special": true}, {"id": 4, "content": "<|system|>", "special": true},
 {"id": 5, "content": "</s>", "special": true}]}`
	agreedConfig = `{"bos_token": "<s>", "eos_token": "<|end|>", "add_bos_token": false}`
	agreedStops  = `{"eos_token_id": [1, 5]}`
)

// TestVocabulary breaks each rule about tokenisers by an edit of one of the files.
func TestVocabulary(t *testing.T) {
	for _, c := range []struct{ breaks, file, from, to, says string }{
		{"", "", "", "", ""},
		{"A100", modeldir.TokenizerConfig, "false", "true", "which the tokeniser adds as well"},
		{"A101", modeldir.JinjaFile, "{{ bos_token }}", "", "without \"<s>\""},
		{"A102", "generation_config.json", "[1, 5]", "[5]", "\"<|end|>\", token 1; generations stop at [5]"},
		{"A103", modeldir.JinjaFile, "{{ m.content }}<|end|>", "{{ m.content }}", "after an assistant message; generations stop at [1 5]"},
		{"A104", "tokenizer.json", `"content": "<|end|>"`, `"content": "<|END|>"`, "the token \"<|END|>\""},
		{"A105", modeldir.JinjaFile, "|>\n", "|>A: ", "ends in \"A:"},
		{"A106", "tokenizer.json", `"content": "<|user|>"`, `"content": "<|human|>"`, "\"<|user|>\""},
		{"A107", modeldir.TokenizerConfig, `"eos_token": "<|end|>"`, `"eos_token": "<|user|>"`, "token 2"},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{
			modeldir.JinjaFile: agreed, "tokenizer.json": agreedTokens,
			modeldir.TokenizerConfig: agreedConfig,
			"generation_config.json": agreedStops,
		} {
			if name == c.file {
				text = strings.ReplaceAll(text, c.from, c.to)
			}
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		m, err := subject.OpenModel(dir)
		if err != nil {
			t.Fatal(err)
		}
		var broken []string
		text := ""
		for _, res := range check.ModelOnly(m, check.Options{}) {
			if res.Status != rule.Passed && res.Rule >= "A100" {
				broken = append(broken, res.Rule)
				text += res.Text + "\n"
			}
		}
		if c.breaks == "" && len(broken) > 0 ||
			c.breaks != "" && !slices.Contains(broken, c.breaks) ||
			!strings.Contains(text, c.says) {
			t.Errorf("%s: %v\n%s", c.breaks, broken, text)
		}
	}
}
