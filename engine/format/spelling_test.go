package format_test

import (
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
