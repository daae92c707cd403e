//go:build !js

package rules

import "embed"

// Files has the examples.
//
//go:embed */testdata/*.txtar
var Files embed.FS
