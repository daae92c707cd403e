package hostile

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/stream"
	"github.com/goassay/assay/harness/corpus/split"
)

// arguments are texts that models write in the place of a call's arguments, or of a value in them.
var arguments = []string{"5", "-0", "1e999", `"x"`, `""`, "[1]", "[]", "null", "true", "False",
	"None", "{}", "{", "}", "[", `{"town"`, `{"town":`, `{"town": "Oslo"`, `{"town": "Oslo",}`,
	`{"town": "Oslo", "town": "Bergen", "days": 3}`, `{"days": 3, "days": 3}`,
	`{"town": "Oslo", "\u0074own": "Bergen"}`, `{"town": 'Oslo'}`, `{'town': 'Oslo'}`,
	`{town: "Oslo"}`, `{"town": Oslo}`, `{"town": NaN, "days": Infinity}`, `{"days": 03}`,
	`{"days": +3}`, `{"days": 3.}`, `{"days": 0x3}`, `{"days": 3} {"days": 4}`, `[{"days": 3}]`,
	`"{\"town\": \"Oslo\", \"days\": 3}"`, `"{\"town\": \"Oslo\""`, `"[1]"`, `"5"`, `"\"x\""`,
	`"\"{}\""`, `{"town": "O` + "\x00" + `slo"}`, `{"town": "O` + "\n" + `slo"}`,
	"{\"town\": \"\xed\xa0\x80\"}", `{"town": "\ud800"}`, `{"town": "\ud83d\ude00"}`,
	`{"town": "\x"}`, `/* a */ {"days": 3}`, `{"days": 3 /* a */}`, `{"": ""}`,
	`{"__proto__": {"a": 1}, "constructor": null}`, "\ufeff{\"days\": 3}", "{\"days\":\u00a03}",
	`{"days": ` + strings.Repeat("9", 5000) + `}`, `{"days": 1` + strings.Repeat("0", 5000) + `e5}`,
	`{"town": ` + strings.Repeat("[", 1500) + strings.Repeat("]", 1500) + `}`,
	`{"town": ` + strings.Repeat(`{"a":`, 1500) + "1" + strings.Repeat("}", 1500) + `}`,
	`{"town": "` + strings.Repeat("so it is ", 4000) + `"}`,
	"{" + strings.Repeat(`"a": 1, `, 500) + `"a": 2}`,
}

// TestArguments puts each of them, and repeated arguments, in the place of a call's arguments, in
// every format, with the usual tolerances and with all. However the output is cut, the reading is
// the same; a call that is complete has an object; a diagnostic tells of a name that is there twice
// and of a call that is not complete; and the answer ends with calls where one is complete.
func TestArguments(t *testing.T) {
	const given = `{"town": "Oslo", "days": 3}`
	every := codegen.Tolerances(0)
	for _, name := range codegen.ToleranceNames() {
		one, err := codegen.ParseTolerance(name)
		if err != nil {
			t.Fatal(err)
		}
		every |= one
	}
	held := 0
	for _, c := range callingFormats(t) {
		var outputs []string
		for _, a := range arguments {
			for _, now := range []string{given, `{"town":"Oslo","days":3}`} {
				if strings.Contains(c.one, now) {
					outputs = append(outputs, strings.Replace(c.one, now, a, 1),
						strings.Replace(c.two, now, a, 1))
				}
			}
			for _, now := range []string{`"Oslo"`, "Oslo", "3"} {
				if strings.Contains(c.one, now) {
					outputs = append(outputs, strings.Replace(c.one, now, a, 1))
				}
			}
		}
		for _, name := range []string{"town", "days"} { // of tagged arguments the name
			outputs = append(outputs, strings.ReplaceAll(c.one, name, "town"),
				strings.ReplaceAll(c.one, name, ""), strings.ReplaceAll(c.one, name, `a"b\`))
		}
		for _, tolerances := range []codegen.Tolerances{codegen.Usual, every} {
			o := readingOptions(t)
			o.Tolerances = tolerances
			out, err := codegen.Generate(c.f, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, output := range outputs {
				held++
				c.hold(t, out, output, tolerances == every)
			}
		}
	}
	t.Logf("%d outputs", held)
}

// hold reads an output, and tells what is wrong with the reading.
func (c calling) hold(t *testing.T, out *codegen.Output, output string, all bool) {
	t.Helper()
	cuts := [][]int{{len(output) / 2}, {len(output) / 3}}
	if len(output) < 1000 {
		cuts = append(cuts, split.Every(len(output)))
	}
	answer, mismatch := split.CheckSchedules(stream.NewParser(out), output, chat.FinishStop,
		slices.Values(cuts))
	wrong := func(format string, args ...any) {
		t.Errorf("%s, all tolerances %t: %.300q: %s", c.name, all, output, fmt.Sprintf(format, args...))
	}
	if mismatch != nil {
		wrong("%v", mismatch)
	}
	p := stream.NewParser(out)
	p.Write([]byte(output))
	p.Close(chat.FinishStop)
	whole := true
	for _, call := range answer.Message.ToolCalls {
		if !call.Complete {
			whole = false
			continue
		}
		v, err := ordered.ParseString(call.Arguments)
		if err != nil || v.Kind() != ordered.Object {
			wrong("a complete call has the arguments %.200q: %v", call.Arguments, err)
			continue
		}
		if key, again := ordered.Repeated(call.Arguments); again && len(p.Diagnostics()) == 0 {
			wrong("a complete call has %q twice, and nobody is told: %.200q", key, call.Arguments)
		}
	}
	if !whole && len(p.Diagnostics()) == 0 {
		wrong("a call is not complete, and nobody is told")
	}
	if (answer.Finish == chat.FinishToolCalls) != slices.ContainsFunc(answer.Message.ToolCalls,
		func(c chat.ToolCall) bool { return c.Complete }) {
		wrong("finish %s with %+v", answer.Finish, answer.Message.ToolCalls)
	}
}
