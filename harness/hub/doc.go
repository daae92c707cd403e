// Package hub judges many templates: those of a hub, of a model, of a list.
//
// # Contents
//
// crawl lists the repositories of a hub and brings their templates, manifest reads lists of
// templates and shares them out, survey judges each once, results has the files of shards,
// storage reads and writes them, in buckets too, observatory makes tables and a site of them,
// fleet does the same for batteries of models. advisory has the records of known faults, audit
// finds them in the templates that somebody has. templates compares the templates of one model.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package hub
