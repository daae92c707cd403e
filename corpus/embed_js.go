package corpus

import "embed"

// FS has the kinds of cases alone: the page is loaded over the network, and reads no family.
//
//go:embed functions.json kinds
var FS embed.FS
