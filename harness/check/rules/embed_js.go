package rules

import "github.com/goassay/assay/harness/check/rule"

// Examples returns none: the page is loaded over the network.
func Examples() map[string]*rule.Example { return nil }
