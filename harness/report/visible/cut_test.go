package visible_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/goassay/assay/harness/report/visible"
)

// TestMessages writes lines of any length, in pieces of any size: long ones are cut at a character.
func TestMessages(t *testing.T) {
	long := strings.Repeat("é", visible.MaxLine)
	cut := strings.Repeat("é", visible.MaxLine/2) + fmt.Sprintf("... (%d bytes more)", visible.MaxLine)
	for _, size := range []int{1, 7, 1 << 20} {
		var out bytes.Buffer
		w := visible.NewMessages(&out)
		for text := "a\n" + long + "\nb\x1b\n" + "z" + long; text != ""; {
			n := min(size, len(text))
			if _, err := w.Write([]byte(text[:n])); err != nil {
				t.Fatal(err)
			}
			text = text[n:]
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(out.String(), "\n")
		if len(lines) != 4 || lines[0] != "a" || lines[1] != cut || lines[2] != `b\u001b` ||
			!strings.HasPrefix(lines[3], "zé") || len(lines[3]) > visible.MaxLine+40 ||
			!strings.HasSuffix(lines[3], " bytes more)") {
			t.Errorf("in pieces of %d: %.200q", size, lines)
		}
	}
}
