// Package clients has the rules about the requests that well-known clients send.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package clients

import "github.com/goassay/assay/harness/check/probe"

// Rules are the rules of the package, in the order of their ids.
var Rules = []*probe.Rule{
	ClientRequestFails,
	ClientRequestChanged,
}
