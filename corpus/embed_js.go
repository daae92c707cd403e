package corpus

import "embed"

// FS is the corpus without the advisories: the page is loaded over the network, and looks nothing
// up.
//
//go:embed *.json *.lock *.md *.txt */*.jinja */*.txtar
var FS embed.FS
