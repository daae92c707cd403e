// Package corpus is the corpus as data: a folder for each family with its own template and its cases (txtar scripts),
// families.txt (which vendor template belongs to which family) and vendor.lock (their SHA-256).
//
// Package harness/script documents the scripts, CONTRIBUTING.md how to add one.
//
// # Stability
//
// This package may change with every release; package engine says what is stable.
package corpus

import "embed"

// FS is the corpus: families.txt, vendor.lock, <family>/template.jinja, <family>/*.txtar.
//
//go:embed *
var FS embed.FS
