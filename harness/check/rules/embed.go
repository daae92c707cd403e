//go:build !js

package rules

import "embed"

//go:embed */testdata/*.txtar
var stored embed.FS
