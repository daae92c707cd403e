package rule

import (
	"strings"

	"github.com/goassay/assay/harness/report/visible"
)

// columns is how wide the lines of a page are.
const columns = 100

// fold breaks the lines of a page that are too wide. Rows of tables stay as they are.
func fold(page string) string {
	var b strings.Builder
	for line := range strings.Lines(page) {
		text, end := strings.CutSuffix(line, "\n")
		if !strings.HasPrefix(text, "|") {
			indent := ""
			if strings.HasPrefix(text, "* ") {
				indent = "  "
			}
			text = visible.Fold(text, columns, indent)
		}
		b.WriteString(text)
		if end {
			b.WriteByte('\n')
		}
	}
	return b.String()
}
