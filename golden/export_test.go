package golden

import (
	"fmt"
	"strings"

	"github.com/goassay/assay/engine"
)

// Text returns the right golden of a template.
func Text(t *engine.Template) string {
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, "-- %s --\n%s", p.name, p.text(t))
	}
	return b.String()
}
