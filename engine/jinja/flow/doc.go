// Package flow is the model of a template: its scopes, where variables are read and given values,
// its branches, and the kinds of values that built-ins return. The compiler asks it about scopes
// and origins of text, the search for conversations about slices and shapes, rules about
// variables, patches about where values are from.
//
// # Terms
//
// A scope ([Scope]) is what jinja2 calls Symbols: the names that a body stores or reads, as its
// idtracking.py finds them. A name that a scope stores anywhere is its own variable everywhere in
// it; a copy of the variable around it where there is one.
//
// A reference ([Ref]) is a place that reads a variable or gives it a value, a definition. A field
// of a variable, x.field or x['field'], has references of its own under the name "x.field"; a
// value of an object that the template spells out, under ".key".
//
// A decision ([Decision]) is a place where a render decides between outcomes: if, elif, inline if,
// for, and a text that is chosen as a value ([SiteKind]). A branch ([Branch]) is an outcome with
// the statements that only run where it comes out so. A place ([Place]) dominates another one
// where it runs whenever the other does, as far as conditions go; two are apart where no render
// runs both in one round of the loops around both. A region ([Region]) is a part with variables of
// its own.
//
// A slice ([Slice]) is the part of a template that a decision depends on. A shape ([Shape]) is the
// form of a part of a request that the template asks for. A kind ([Kinds]) is what a set of values
// has in common; the tables [Filters], [Methods], [Functions] and [Tests] say of each built-in
// which kinds it returns, and which parts of its operands.
//
// # Model
//
// [New] goes through a tree once, in the order in which a render evaluates it, and notes
// references and decisions with the place of each. Names stand for variables in all scopes: what a
// slice, a shape or [Texts] concludes holds of every variable of a name, so that they find too
// much rather than too little. Package reach, beneath, proves on the same terms which outcomes no
// request reaches.
//
// # Cost
//
// A model costs time and memory in proportion to the template: one reference for each name, one
// place for each expression, one branch for each outcome. [Place.Dominates] and [Place.Apart] cost
// the depth of the branches. A slice visits each part of a template at most [MaxLevel] times for
// each place that leads to it, and a shape at most a fixed number of times; both have bounds on
// what they keep, so that a template that means harm gets a coarser answer, not a slower one.
//
// # Limits
//
// Templates that extend, include or import others are seen without these. The model does not say
// how an expression is written: package edit tells that to programs that edit templates.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package flow
