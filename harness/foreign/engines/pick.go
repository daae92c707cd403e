package engines

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// PickReport is the output of `assay engines pick`.
type PickReport struct {
	Template string `json:"template"`
	Engine   string `json:"engine"`
	Version  string `json:"version"`
	Choice
	// Published is where the readings are from, where the engine did not answer itself.
	Published *Origin `json:"published,omitempty"`
	// Faults are sentences about a parser that was named, or that the engine picks by itself, and
	// that does not read the template's turns.
	Faults []string `json:"faults"`
}

// Origin names readings that were published: those of a family, of the run of a date.
type Origin struct {
	Date   string `json:"date"`
	Family string `json:"family"`
}

// NewPick judges a choice against the parsers that somebody means to use; empty names are not
// judged.
func NewPick(d Description, choice Choice, named Parser) PickReport {
	r := PickReport{Engine: d.Engine, Version: d.Version, Choice: choice, Faults: []string{}}
	judge := func(what, who, name string, readings []Reading) {
		if name == "" || len(readings) == 0 {
			return
		}
		reading, ok := Fits(readings, name)
		switch {
		case ok:
		case reading.Of == 0:
			r.Faults = append(r.Faults,
				fmt.Sprintf("%s has no parser of %s named %q", d.Engine, what, name))
		default:
			fault := fmt.Sprintf("%s %s for %s, which reads %d of the template's %d turns", who,
				name, what, reading.Read, reading.Of)
			if reading.Witness != "" {
				fault += "\n" + reading.Witness
			}
			r.Faults = append(r.Faults, fault)
		}
	}
	judge("calls", "you named", named.Tool, choice.Tools)
	judge("reasoning", "you named", named.Reasoning, choice.Thoughts)
	if choice.Detected != nil {
		judge("calls", d.Engine+" itself picks", choice.Detected.Tool, choice.Tools)
		judge("reasoning", d.Engine+" itself picks", choice.Detected.Reasoning, choice.Thoughts)
	}
	return r
}

// String returns the parsers that fit, the flags to use, and a witness for each that the template's
// turns refute.
func (r PickReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.Engine, r.Version)
	if p := r.Published; p != nil {
		fmt.Fprintf(&b, "the engine is not installed: these are the readings that were published "+
			"on %s, of the family %s, whose template has the same format\n", p.Date, p.Family)
	}
	list := func(what string, readings []Reading) {
		switch {
		case len(readings) > 0:
		case what == "calls" && r.Undisclosed:
			b.WriteString("calls: the template shows tools to the model and never writes a call, " +
				"so that it does not tell how its model spells one; name the parser that the " +
				"model's publisher names\n")
			return
		default:
			fmt.Fprintf(&b, "%s: the template writes none that could be tried\n", what)
			return
		}
		var fit []string
		for _, reading := range readings {
			if reading.reads() {
				fit = append(fit, reading.Parser+reading.order())
			}
		}
		if len(fit) > 0 {
			fmt.Fprintf(&b, "%s: read by %s\n", what, strings.Join(fit, ", "))
			return
		}
		best := readings[0]
		fmt.Fprintf(&b, "%s: no parser reads all turns; the best is %s "+
			"with %d of %d\n", what, best.Parser, best.Read, best.Of)
		if best.Witness != "" {
			fmt.Fprintf(&b, "  %s\n", strings.ReplaceAll(best.Witness, "\n", "\n  "))
		}
	}
	list("calls", r.Tools)
	list("reasoning", r.Thoughts)
	if d := r.Detected; d != nil && d.Tool != byTemplate {
		fmt.Fprintf(&b, "its own choice: calls "+
			"%s, reasoning %s\n", cmp.Or(d.Tool, "none"), cmp.Or(d.Reasoning, "none"))
	}
	if flags := r.flags(); flags != "" {
		fmt.Fprintf(&b, "flags: %s\n", flags)
	}
	for _, fault := range r.Faults {
		fmt.Fprintf(&b, "error: %s\n", strings.ReplaceAll(fault, "\n", "\n  "))
	}
	return b.String()
}

// order says that a parser needs the order of models; "" where the template's does.
func (r Reading) order() string {
	if r.Other == 0 {
		return ""
	}
	return " (the channel before the recipient, as models write it and this history does not)"
}

// flags returns the command line of the engine's server for the parsers that read every turn, by
// the engine's documentation.
func (r PickReport) flags() string {
	if r.Detected != nil && r.Detected.Tool == byTemplate {
		return ""
	}
	var tool, reasoning string
	if len(r.Tools) > 0 && r.Tools[0].reads() {
		tool = r.Tools[0].Parser
	}
	if len(r.Thoughts) > 0 && r.Thoughts[0].reads() {
		reasoning = r.Thoughts[0].Parser
	}
	var flags []string
	if tool != "" {
		if r.Engine == "vllm" {
			flags = append(flags, "--enable-auto-tool-choice")
		}
		flags = append(flags, "--tool-call-parser "+tool)
	}
	if reasoning != "" {
		flags = append(flags, "--reasoning-parser "+reasoning)
	}
	return strings.Join(flags, " ")
}

// Line is the report in a line: the engine's own choice for calls and whether it reads them, and
// the parsers that do. err is why there is no report.
func (r PickReport) Line(err error) string {
	if err != nil {
		text, _, _ := strings.Cut(err.Error(), "\n")
		return "not judged: " + text
	}
	switch {
	case len(r.Tools) > 0:
	case r.Undisclosed:
		return "shows tools and writes no calls"
	default:
		return "writes no calls"
	}
	var fit []string
	for _, reading := range r.Tools {
		if reading.reads() {
			fit = append(fit, reading.Parser)
		}
	}
	read := "no parser reads all turns"
	if len(fit) > 0 {
		read = "read by " + strings.Join(fit, " ")
	}
	own := "no detection"
	if p := r.Published; p != nil {
		own = fmt.Sprintf("as the family %s on %s", p.Family, p.Date)
	}
	if r.Detected != nil {
		switch name := r.Detected.Tool; {
		case name == "":
			own = "picks none"
		case slices.Contains(fit, name):
			own = "picks " + name + ", which reads all calls"
		default:
			own = "picks " + name + ", which cannot read the calls"
			if reading, _ := Fits(r.Tools, name); reading.First {
				own = fmt.Sprintf("picks %s, which reads the plainest call and %d of %d turns",
					name, reading.Read, reading.Of)
			}
		}
	}
	return own + "; " + read
}

// Misled reports whether the engine's own choice cannot read the template's plainest call.
func (r PickReport) Misled() bool {
	if len(r.Tools) == 0 || r.Detected == nil || r.Detected.Tool == "" {
		return false
	}
	reading, _ := Fits(r.Tools, r.Detected.Tool)
	return !reading.First
}

// PickCounts counts templates by whether the engine's own choice reads their calls: the plainest
// one, and all of their turns.
type PickCounts struct {
	Templates, NotJudged, NoCalls, Reads, All, Cannot, None, Unread int
}

// Add counts a report; err is why there is none.
func (n *PickCounts) Add(r PickReport, err error) {
	n.Templates++
	switch {
	case err != nil:
		n.NotJudged++
		return
	case len(r.Tools) == 0:
		n.NoCalls++
		return
	}
	if !slices.ContainsFunc(r.Tools, func(r Reading) bool { return r.First }) {
		n.Unread++
	}
	if r.Detected == nil || r.Detected.Tool == "" {
		n.None++
		return
	}
	if _, all := Fits(r.Tools, r.Detected.Tool); all {
		n.All++
	}
	if r.Misled() {
		n.Cannot++
	} else {
		n.Reads++
	}
}

func (n PickCounts) String() string {
	return fmt.Sprintf("%d templates, %d not judged, %d without calls; of the other %d the "+
		"engine's own choice reads the plainest call of %d (all turns of %d), cannot read that of "+
		"%d, and there is none for %d; no parser reads that of %d", n.Templates, n.NotJudged,
		n.NoCalls, n.Reads+n.Cannot+n.None, n.Reads, n.All, n.Cannot, n.None, n.Unread)
}
