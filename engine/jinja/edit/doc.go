// Package edit is a template as a program sees it that edits one: its parts with the places where
// they stand, and the edits that turn one into another.
//
// # Model
//
// [Parse] reads a template once. A part ([Node]) has its kind, the stretch of the text where it
// stands, the part that it is in and those below it. An edit ([Edit]) replaces a stretch: what no
// edit touches stays as the author wrote it, white space and comments included. The constructors
// ([Node.Or], [Node.Through], [Template.Guarded], ...) put in the parentheses and the signs for
// white space that a place needs.
//
// Where a variable has its values from, and what runs under which conditions, is told by package
// flow: [Template].Flow returns its model of the same template, and [Template.Of] leads from one to
// the other.
//
// # Cost
//
// In proportion to the template: one node for each name, operator and statement.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package edit
