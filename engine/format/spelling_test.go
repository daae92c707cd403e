package format_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/goassay/assay/engine/format"
)

func TestSpelling(t *testing.T) {
	f := format.Format{
		Header: "<assistant>\n",
		End:    []string{"<end>"},
		Reasoning: format.Reasoning{Mode: format.ReasoningTagged,
			Pair: format.Pair{Open: format.Mark("<think>\n"), Close: format.Mark("\n</think>\n\n")},
			Trim: true},
		Calls: []format.Calls{{
			Section: format.Pair{Open: format.Mark("\n<calls>"), Close: format.Mark("\n")},
			Sep:     format.Mark("\n"),
			Head: []format.Part{format.Lit("\n<call>"), {Kind: format.SlotName},
				format.Lit("\n")},
			Body: format.Body{
				Kind: format.BodyTagged,
				Entry: []format.Part{format.Lit("<key>"), {Kind: format.SlotKey},
					format.Lit("</key>\n<value>"), {Kind: format.SlotValue},
					format.Lit("</value>\n")},
				Codec: format.Codec{Style: format.StyleRaw},
			},
			Tail: []format.Part{format.Lit("\n</call>")},
		}},
		Routes: []format.Route{{Start: format.Mark("<start> "),
			Head:  []format.Part{{Kind: format.SlotRecipient}, format.Lit("\n")},
			Close: []format.Marker{format.Mark("<stop>\n")}}},
	}
	before := f.String()
	const want = `reasoning.mode: tagged
reasoning.open: "<think>"
reasoning.close: "</think>"
reasoning.trim: true
content.mode: plain
calls: tag_with_tagged
section_start: "<calls>"
head: "<call>" {name}
args: tagged
arg: "<key>" {key} "</key>\n<value>" {value} "</value>"
codec: raw
tail: "</call>"
route: content start "<start>" head {recipient} close "<stop>"
`
	if got := f.Spelling().String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if f.String() != before {
		t.Error("the format itself was changed")
	}
}

// TestContinued writes the beginning of a message that is to be continued.
func TestContinued(t *testing.T) {
	pair := format.Pair{Open: format.Mark("<t>\n"), Close: format.Mark("\n</t>")}
	tagged := format.Format{Reasoning: format.Reasoning{Mode: format.ReasoningTagged, Pair: pair,
		Empty: "<t></t>"}}
	wrapped := tagged
	wrapped.Content = format.Content{Mode: format.ContentWrapped,
		Pair: format.Pair{Open: format.Mark("<a>"), Close: format.Mark("</a>")}}
	start := format.Mark("<s>")
	routed := format.Format{Routes: []format.Route{
		{Kind: format.RouteReasoning, Start: start, Head: []format.Part{format.Lit("think\n")},
			Close: []format.Marker{format.Mark("<e>")}},
		{Kind: format.RouteContent, Start: start, Head: []format.Part{format.Lit("say\n"),
			{Kind: format.SlotLit, Text: format.Mark("?"), Opt: true}}},
	}}
	open := format.Format{Routes: []format.Route{{Kind: format.RouteReasoning, Start: start,
		Head: []format.Part{format.Lit("think\n")}}}}
	calls := format.Format{Routes: []format.Route{{Kind: format.RouteCall, Start: start}}}
	with := format.Format{Content: format.Content{Mode: format.ContentWrappedWithCalls,
		Pair: wrapped.Content.Pair}}
	spaced := format.Format{Content: format.Content{Pair: format.Pair{Open: format.Mark("\n")}}}
	slot := format.Format{Routes: []format.Route{{Kind: format.RouteContent,
		Head: []format.Part{format.Lit("say "), {Kind: format.SlotWord}}}}}
	for _, tt := range []struct {
		f                  format.Format
		reasoning, content string
		inReasoning        bool
		want               string
	}{
		{tagged, "r", "c", false, "<t>\nr\n</t>c"}, {tagged, "r", "", true, "<t>\nr"},
		{tagged, "", "", true, "<t>\n"}, {tagged, "", "c", false, "<t></t>c"},
		{wrapped, "r", "c", false, "<t>\nr\n</t><a>c"}, {format.Format{}, "r", "c", false, "c"},
		{format.Format{}, "", "c", true, "c"},
		{routed, "r", "c", false, "think\nr<e><s>say\nc"}, {routed, "r", "", true, "think\nr"},
		{routed, "", "", true, "think\n"}, {routed, "", "c", false, "say\nc"},
		{spaced, "", "c", false, "\nc"}, {spaced, "r", "c", false, "c"},
		{with, "", "c", false, "c"}, {with, "r", "c", false, "c"}, {slot, "", "c", false, "say c"},
		{open, "r", "c", false, "think\nr<s>c"}, {calls, "r", "c", false, "c"},
	} {
		if got := tt.f.Continued(tt.reasoning, tt.content, tt.inReasoning); got != tt.want {
			t.Errorf("%q, %q, %v: got %q, want %q", tt.reasoning, tt.content, tt.inReasoning, got,
				tt.want)
		}
	}
}

// TestShape says how calls are spelled, for people.
func TestShape(t *testing.T) {
	of := func(c format.Calls) format.Format { return format.Format{Calls: []format.Calls{c}} }
	body := func(k format.BodyKind) format.Format {
		return of(format.Calls{Body: format.Body{Kind: k}})
	}
	for _, tt := range []struct {
		f    format.Format
		want string
	}{
		{format.Format{}, "none"}, {format.Format{Undisclosed: true}, "undisclosed"},
		{format.Format{Routes: []format.Route{{Kind: format.RouteContent}}}, "none"},
		{format.Format{Routes: []format.Route{{Kind: format.RouteContent}, {Kind: format.RouteCall}}}, "routes"},
		{of(format.Calls{Object: &format.Object{}, Array: true}), "array of json_native"},
		{of(format.Calls{Object: &format.Object{}, Tentative: true}), "json_native tentative"},
		{body(format.BodyTagged), "tag_with_tagged"}, {body(format.BodyKwargs), "tag_with_tagged"},
		{body(format.BodyDict), "tag_with_tagged"}, {body(format.BodyJSON), "tag_with_json"},
	} {
		if got := tt.f.Shape(); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
	for want, c := range map[string]format.Codec{
		"raw, cdata, entities":             {Style: format.StyleRaw, CDATA: true, Entity: true},
		"raw, entities everywhere, nested": {Style: format.StyleRaw, Entity: true, Escaped: true, Nested: true},
		"raw, quote \"`\"":                 {Style: format.StyleRaw, Quote: "`"},
	} {
		if got := c.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestString prints formats that have each kind of part.
func TestString(t *testing.T) {
	part := func(p format.Part) format.Format {
		return format.Format{Calls: []format.Calls{{Head: []format.Part{p}}}}
	}
	object := func(o format.Object) format.Format {
		return format.Format{Calls: []format.Calls{{Object: &o}}}
	}
	const head, json = "calls: tag_with_json\nhead: ", "calls: json_native\nobject: "
	for _, tt := range []struct {
		f    format.Format
		want string
	}{
		{part(format.Part{Kind: format.SlotID, Parts: []format.Part{format.Lit("f."), {Kind: format.SlotName}}}), head + `{id: "f." {name}}`},
		{part(format.Part{Kind: format.SlotType, Types: []format.TypeName{{Word: "str", Raw: true}, {Word: "int"}}}), head + "{type: str=raw int}"},
		{part(format.Part{Kind: format.SlotIndex, Base: 1}), head + "{index from 1}"},
		{part(format.Part{Kind: format.SlotID, IDs: format.IDs{Max: 9}}), head + "{id: 1 to 9 characters}"},
		{part(format.Part{Kind: format.SlotName, Escapes: "&amp;"}), head + "{name with &amp;}"},
		{part(format.Part{Text: format.Mark("a"), Alts: []string{"b"}, Opt: true}), head + `"a"|"b"?`},
		{object(format.Object{NameIsKey: true, Quote: '\''}), json + "name is key, single quotes"},
		{object(format.Object{Fields: []format.Field{{Path: []string{"type"}, Const: `"f"`}, {Path: []string{"function", "args"}, Slot: format.SlotArgs, Text: true}}}),
			json + `type="f", function.args=args (text)`},
		{object(format.Object{Fields: []format.Field{{Path: []string{"id"}, Slot: format.SlotID, IDs: format.IDs{Min: 9, Max: 9}}}}), json + "id=id (9 characters)"},
		{format.Format{Content: format.Content{Trim: true}, Undisclosed: true}, "content.trim: true\ncalls: undisclosed"},
		{format.Format{Reasoning: format.Reasoning{Trim: true}}, "reasoning.trim: true"},
		{format.Format{Calls: []format.Calls{{Unclosed: true, Body: format.Body{Kind: format.BodyJSON, Sorted: true}}}},
			"calls: tag_with_json\nsection_end.after: several calls\nargs: json\ncodec: json\nkeys: sorted"},
		{format.Format{Routes: []format.Route{{Kind: format.RouteCall, Head: []format.Part{format.Lit("to")}}}}, `route: call "to"`},
	} {
		got := strings.ReplaceAll(strings.ReplaceAll(tt.f.String(), "reasoning.mode: none\n", ""),
			"content.mode: plain\n", "")
		if got != tt.want+"\n" {
			t.Errorf("got\n%swant\n%s", got, tt.want)
		}
	}
	f := format.Format{End: []string{"a", "b"}, Calls: []format.Calls{{}, {}}}
	want := "end reasoning.mode content.mode calls"
	if got := strings.Join(f.Fields(), " "); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestWraps says in which turns content stands between its markers, and what counts as a marker.
func TestWraps(t *testing.T) {
	for mode, want := range map[format.ContentMode]string{
		format.ContentPlain:                "false false false false",
		format.ContentWrapped:              "true true true true",
		format.ContentWrappedWithReasoning: "false false true true",
		format.ContentWrappedWithCalls:     "false true false true",
		format.ContentWrappedWithoutCalls:  "true false true false",
	} {
		c := format.Content{Mode: mode}
		got := fmt.Sprint(c.Wraps(false, false), c.Wraps(false, true), c.Wraps(true, false),
			c.Wraps(true, true))
		if got != want {
			t.Errorf("%s: got %s, want %s", mode, got, want)
		}
	}
	if p := (format.Pair{Close: format.Mark("x")}); p.IsZero() || !(format.Pair{}).IsZero() {
		t.Errorf("%v is taken for no markers, or none for some", p)
	}
	plain := format.Part{Kind: format.SlotName}
	escaped := format.Part{Kind: format.SlotName, Escapes: "&amp; &quot;"}
	if got := plain.Escaped(`a&"`) + escaped.Escaped(`a&"`); got != `a&"a&amp;&quot;` {
		t.Errorf("got %q", got)
	}
}
