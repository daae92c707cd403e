package engines

import (
	"cmp"
	"fmt"
	"strings"
)

// PickReport is the output of `assay engines pick`.
type PickReport struct {
	Engine  string `json:"engine"`
	Version string `json:"version"`
	Choice
	// Faults are sentences about a parser that was named, or that the engine picks by itself, and
	// that does not read the template's turns.
	Faults []string `json:"faults"`
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
			r.Faults = append(r.Faults, fmt.Sprintf("%s %s for %s, which reads %d of the "+
				"template's %d turns\n%s", who, name, what, reading.Read, reading.Of,
				reading.Witness))
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
	list := func(what string, readings []Reading) {
		if len(readings) == 0 {
			fmt.Fprintf(&b, "%s: the template writes none that could be tried\n", what)
			return
		}
		var fit []string
		for _, reading := range readings {
			if reading.reads() {
				fit = append(fit, reading.Parser)
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
	if d := r.Detected; d != nil {
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

// flags returns the command line of the engine's server for the parsers that read every turn, by
// the engine's documentation.
func (r PickReport) flags() string {
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
