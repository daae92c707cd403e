// Package corpus is the corpus as data: the kinds of cases, a folder for each family with its own
// template, its outputs and the cases that it alone has, families.txt (which vendor template
// belongs to which family) and vendor.lock (their SHA-256).
//
// README.md is its manual. Package harness/corpus/families reads it, package harness/corpus/script
// documents the scripts.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package corpus

import (
	"embed"

	"github.com/goassay/assay/harness/corpus/embedded"
)

//go:embed *.json *.lock *.txt */*
var files embed.FS

// FS is the corpus.
var FS = embedded.FS{Stored: &files}
