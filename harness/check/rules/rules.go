// Package rules has the examples of the rules, which lie beside them: a rule is the file
// SUBJECT/aNNN_name.go of a package below, and its example SUBJECT/testdata/aNNN-name.txtar.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package rules
