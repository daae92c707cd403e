// Package engines has the programs of adapters that the command starts by their names.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package engines

import "embed"

// Adapters has the loop of adapters in Python, and the encoders: NAME/adapter.py.
//
//go:embed assay_adapter.py harmony/adapter.py mistral-common/adapter.py
var Adapters embed.FS
