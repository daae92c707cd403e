package ci

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/testkit/command"
)

var python = regexp.MustCompile("(?ms)^```python\n(.*?)^```$")

// TestMaskExample runs the Python of docs/tokens.md with a tokeniser that makes a token of each
// character.
func TestMaskExample(t *testing.T) {
	t.Parallel()
	need(t, "python3")
	found := python.FindStringSubmatch(readFile(t, "../docs/tokens.md"))
	if found == nil {
		t.Fatal("docs/tokens.md has no example in Python")
	}
	dir := filepath.Dir(command.Path(t)) // its name there is assay
	cmd := exec.Command("python3", "-c", found[1]+`
text = []
def offsets(s):
    text.append(s)
    return [(i, i + 1) for i in range(len(s))]
marks = mask("../corpus/qwen3/template.jinja", "testdata/tokens/conversation.json", offsets)
print("".join(c for c, m in zip(text[0], marks) if m))
`)
	cmd.Env = append(os.Environ(), "PATH="+dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	const want = "<think>\n\n</think>\n\nHello<|im_end|>\n"
	if err != nil || strings.ReplaceAll(string(out), "\r\n", "\n") != want {
		t.Errorf("%v: it marks %q, want %q", err, out, want)
	}
}
