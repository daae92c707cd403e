// Package corpus reads the corpus of families and runs its cases.
//
// # Contents
//
// embedded reads the files in the program; families the folders of the corpus, and composes
// cases of kinds and outputs; outline reads its lists. script runs a case, equivalence holds
// the vendors' templates to the own one of their family. split knows every way to cut an
// output, tokens every way to cut it at tokens. soak draws random cases for as long as one
// likes, and reduce makes one that fails small. relatives finds the families that behave like a
// template.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package corpus
