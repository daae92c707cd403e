// Package account has the rules about the values of a request and the text around each, which the
// account of package fact/account shows.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package account

import "github.com/goassay/assay/harness/check/probe"

// Rules are the rules of the package, in the order of their ids.
var Rules = []*probe.Rule{
	ValuesRunTogether,
	BlankStart,
	StartMissing,
	MarkerSpeltTwice,
	IndentationPrinted,
	LineFeedLost,
}
