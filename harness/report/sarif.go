package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/report/visible"
)

// The part of SARIF 2.1.0 that code scanning reads.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		InformationURI string      `json:"informationUri"`
		Version        string      `json:"version"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string       `json:"id"`
		Name    string       `json:"name"`
		Short   sarifText    `json:"shortDescription"`
		Full    sarifText    `json:"fullDescription"`
		Help    sarifText    `json:"help"`
		HelpURI string       `json:"helpUri"`
		Default sarifDefault `json:"defaultConfiguration"`
	}
	sarifDefault struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	sarifResult struct {
		RuleID       string            `json:"ruleId"`
		Kind         string            `json:"kind,omitempty"` // "" is "fail"
		Level        string            `json:"level"`
		Message      sarifText         `json:"message"`
		Locations    []sarifLocation   `json:"locations"`
		Fingerprints map[string]string `json:"partialFingerprints"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		Line int `json:"startLine"`
		Col  int `json:"startColumn,omitempty"`
	}
)

const home = "https://github.com/goassay/assay"

// failedRule is declared for failures that no rule produced: a script, a vector, a golden.
var failedRule = rule.Rule{ID: "A000", Name: "check-failed", Severity: rule.Error,
	Short: "A check of the corpus failed.",
	Damage: "Behaviour that the corpus " +
		"promises is gone.", Fix: "Read the message; run `assay run` for the full text."}

// SARIF writes failures and findings as SARIF 2.1.0, and results that were not judged as those of
// the kind "open", which have no level (section 3.27.9). Of the rules those are declared that a
// result names. A fingerprint is made of the rule, the suite, the name and the first line of the
// text, so that it stays when lines move.
func (r *Report) SARIF(w io.Writer) error {
	r = r.bounded()
	run := sarifRun{Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "assay", InformationURI: home,
		Version: visible.Line(r.Version)}
	named := map[string]bool{}
	for i := range r.Results {
		if res := &r.Results[i]; res.News() {
			one := resultSARIF(res)
			named[one.RuleID] = true
			run.Results = append(run.Results, one)
		}
	}
	run.Tool.Driver.Rules = []sarifRule{}
	for _, declared := range append([]rule.Rule{failedRule}, r.Rules...) {
		if named[declared.ID] {
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, ruleSARIF(declared))
		}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	})
}

// manual is the page of the documents that has the rule.
func manual(id string) string {
	switch {
	case strings.HasPrefix(id, "D"):
		return "change-rules.md"
	case strings.HasPrefix(id, "S"):
		return "server-rules.md"
	case strings.HasPrefix(id, "V"):
		return "provider-rules.md"
	}
	return "rules.md"
}

// Manual is the address of the page that explains a rule.
func Manual(id string) string {
	return home + "/blob/main/docs/reference/" + manual(id) + "#" + strings.ToLower(id)
}

func ruleSARIF(r rule.Rule) sarifRule {
	r = visibleRule(r)
	help := sarifText{Text: r.Fix}
	if r.Example != nil {
		help.Markdown = r.Fix + "\n" + r.Example.Markdown()
	}
	return sarifRule{
		ID: r.ID, Name: r.Name, Short: sarifText{Text: r.Short},
		Full: sarifText{Text: r.Short + " " + r.Damage}, Help: help,
		HelpURI: Manual(r.ID),
		Default: sarifDefault{r.Severity.String()},
	}
}

func resultSARIF(res *rule.Result) sarifResult {
	id, level := res.Rule, res.Severity.String()
	if id == "" {
		id, level = failedRule.ID, failedRule.Severity.String()
	}
	kind, name := "", res.Name
	if res.Status == rule.Unjudged {
		kind, level, name = "open", "none", name+": not judged"
	}
	head, _, _ := strings.Cut(res.Text, "\n")
	sum := sha256.Sum256([]byte(strings.Join([]string{id, res.Suite, res.Name, head}, "\x00")))
	file := cmp.Or(res.Place.File, res.Suite)
	place := sarifPhysical{sarifArtifact{fileURI(file)},
		sarifRegion{max(res.Place.Line, 1), max(res.Place.Col, 0)}}
	return sarifResult{
		RuleID: visible.Line(id), Kind: kind, Level: level,
		Message:      sarifText{Text: visible.Text(name + ": " + res.Text)},
		Locations:    []sarifLocation{{place}},
		Fingerprints: map[string]string{"assay/v1": hex.EncodeToString(sum[:16])},
	}
}

// fileURI is a file's name as a URI, relative where the name is.
func fileURI(name string) string {
	u := url.URL{Path: strings.ToValidUTF8(filepath.ToSlash(name), "\uFFFD")}
	if filepath.IsAbs(name) {
		u.Scheme = "file"
	}
	return u.String()
}
