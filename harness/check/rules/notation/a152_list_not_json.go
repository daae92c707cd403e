package notation

import (
	"regexp"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/harness/check/fact/account"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/report"
)

// ListNotJSON is the rule A152: a tool's description or a result begins and ends as JSON does, and
// is not valid JSON; or a list that the template writes ends with the comma that divides its items.
var ListNotJSON = &probe.Rule{
	Rule: rule.Rule{
		ID: "A152", Name: "list-not-json", Severity: rule.Warning, Harm: rule.Glued,
		Short: "A tool's description or result that looks like JSON is not valid JSON, or a comma " +
			"stands between the last of them and the bracket of their list.",
		Damage: "The model cannot tell where a value or a list ends, and may write such JSON in " +
			"its tool calls.",
		Fix: "Write a string with `tojson`, which adds the quotes, or the whole value at once.",
	},
	Requires: []string{"A121"},
	Find:     checkListsJSON,
}

func checkListsJSON(s *probe.Subject, find probe.Finder) {
	checkSeparators(s, find)
	tools := sample.Tools()
	names := make([]string, len(tools))
	for i, tool := range tools {
		names[i] = tool.Name
	}
	if !s.Fires("A121") {
		notation(s, find, notated{"a tool", chat.Request{Messages: sample.Talk(sample.User),
			Tools: tools},
			"", names})
	}
	for _, text := range []string{"RESULTNEEDLE", "RESULTNEEDLE says \"yes\"\nand no"} {
		if notation(s, find, notated{"a tool message", chat.Request{Messages: sample.Talk(
			sample.User,
			sample.CallTurn, sample.WithText(sample.Result, text)), Tools: tools}, "CITYNEEDLE",
			[]string{"RESULTNEEDLE"}}) {
			return
		}
	}
}

// hanging matches a comma at the end of a list. In types and the signatures of functions the last
// member may have one.
var hanging = regexp.MustCompile(`,\s*\]`)

// checkSeparators looks at the template's own text right after a value of a request. A comma and a
// bracket that one statement writes are meant so.
func checkSeparators(s *probe.Subject, find probe.Finder) {
	for _, e := range account.Entries.Of(s) {
		for i, end := 1, 0; i < len(e.Runs); i = max(i+1, end) {
			end = i
			for end < len(e.Runs) && e.Runs[end].Role == jinja.Literal {
				end++
			}
			if end == i {
				continue
			}
			from, to := e.Runs[i].From, e.Runs[end-1].From+e.Runs[end-1].Len
			at := hanging.FindStringIndex(e.Seen.String[from:to])
			if at == nil {
				continue
			}
			comma, _ := e.Seen.Trace.WriteAt(from + at[0])
			bracket, _ := e.Seen.Trace.WriteAt(from + at[1] - 1)
			if comma.Off != bracket.Off {
				find(e.At(from+at[0]).Mended("Write a comma only where another item follows."),
					"a comma stands between the last item and the end of a list\n"+
						"the model sees: %s", report.Quote(e.Seen.String, from+at[1]))
				return
			}
		}
	}
}
