// Package editor is the room of the language server.
//
// # Contents
//
// It is empty: no command needs it yet.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package editor
