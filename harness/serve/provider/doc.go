// Package provider asks a provider of a model thousands of requests, and compares it with a
// reference.
//
// # Model
//
// A [Run] sends the requests of a data set (package dataset) to a [Client], some of them at once,
// and appends what comes to a [Log]. The outcomes of a log are a [Table]; [Compare] makes a [Line]
// of each [Measure] of it, against the table of a reference where there is one, and a [Result]
// writes them: for people, as JSON lines, as a report with a rule for each measure. The statistics
// are in package stat.
//
// An [Outcome] is all that the measures need of an answer: a few dozen bytes. An [Explainer] finds
// it, and the cause of each [Miss]: the parser, the template, the schema, the model, a limit, the
// provider's network, or that nobody can tell without the raw text.
//
// # The log
//
// A log is JSON lines: a [Header], then an [Entry] for each event. Before a request is sent there
// is a line that it was; its answer is a line as well. Each goes to the system in one call, so that
// the end of a process loses no line, and to the disk at least once a second while lines come. So
// after kill -9 an answer either is in the log, and its request is not sent again, or it is not,
// and the request is one of those that were under way. A last line that is not whole is cut off. A
// lock keeps two runs from writing to one log.
//
// # Limits
//
// Memory holds the outcomes, some 60 bytes for each answer, and the requests that are under way:
// an answer has at most 4 MiB, and of a stream of at most 64 MiB the message is kept. Lines of logs
// end at 64 MiB, and a log has at most 5 million answers. A pattern of a schema has 100 ms for a
// match; a text that needs more does not match. Schemas load no other document.
//
// # Errors
//
// [Run.Ask] wraps [ErrBudget] where the budget ended it and [ErrSilent] where the provider answers
// nobody; the log can be gone on with after both. Everything that a provider sends, and that is no
// answer, is an outcome and no error.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package provider
