// Package report writes the results of checks, for people and for machines.
//
// # Model
//
// A [Report] is a list of results (package rule), and the report declares all rules of the run.
// Results are in an order that does not depend on how the work was scheduled, and carry no times,
// so that two runs give the same bytes.
//
// # Forms
//
// [Report.Text] is for terminals, [Report.JSON] for other programs and for [Merge], [Report.JUnit]
// and [Report.SARIF] for CI systems, [Report.Annotations] and [Report.Summary] for GitHub,
// [Report.HTML] is a page that stands alone.
//
// # Packages below
//
// visible makes text of others fit to be shown, safefile opens and writes the files that others
// name, web has the page.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package report
