//go:build !js

package corpus

import "embed"

// FS is the corpus.
//
//go:embed *
var FS embed.FS
