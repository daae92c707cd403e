package livetest

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/wire"
)

// Fault is a way in which a server is wrong.
type Fault struct {
	Protocol wire.Protocol
	Name     string
	// Rules are the ids of the rules that it breaks.
	Rules string
	// Alter makes what changes the replies of one server; it is safe for concurrent use.
	Alter  func() func(r *Reply)
	Silent bool // the server is, so that a short limit is to be set
	Beside bool // it shows only beside other protocols
}

// Faults returns the faults of each protocol, at least forty.
func Faults() []Fault {
	var all []Fault
	for _, p := range wire.All {
		add := func(rules, name string, change func(*Reply)) {
			all = append(all, Fault{Protocol: p, Name: name, Rules: rules, Alter: always(change)})
		}
		common(p, add)
		switch p {
		case wire.ChatCompletions:
			ofCompletions(add)
		case wire.Responses:
			ofResponses(add)
		default:
			ofMessages(add)
		}
		all = append(all, remembering(p)...)
	}
	return all
}

// forecast are arguments that the schemas of all scenarios take.
const forecast = `{"city": "Bern", "unit": "celsius"}`

func addText(more string) func(string) string {
	return func(text string) string { return text + more }
}

// common are faults that every protocol can have.
func common(p wire.Protocol, add func(rules, name string, change func(*Reply))) {
	// the Responses repeat a text, so that a delta which is changed is no longer a part of it
	differs, leaks, half := "S014", "S014 S016", "S011"
	if p == wire.Responses {
		differs, leaks, half = "S028", "S016 S028", "S011 S028"
	}
	add("S004", "the content type of a stream is JSON", where(inStreams, func(r *Reply) {
		r.Type = "text/plain"
	}))
	add("S003", "the content type of an answer is text", where(inPieces, func(r *Reply) {
		r.Type = "text/html"
	}))
	add("S004", "a stream comes in one piece", where(inStreams, func(r *Reply) {
		r.Stream, r.Body = false, ordered.ObjectOf()
	}))
	add("S004", "an error that is no event", func(r *Reply) {
		r.Tail = "{\"error\": {\"message\": \"x\"}}\n\n" + r.Tail
	})
	add("S004", "data that are no JSON", func(r *Reply) {
		r.Tail = "data: {'id': 1}\n\n" + r.Tail
	})
	add("S004", "a giant line", func(r *Reply) {
		r.Tail = "data: \"" + strings.Repeat("x", 1<<17) + "\"\n\n" + r.Tail
	})
	add("S005", "a stream that breaks off within an event", func(r *Reply) {
		if n := len(r.Events); n > 2 && r.Stream {
			r.Events, r.Tail = r.Events[:n-2], "data: {\"id\": \"chatc"
		}
	})
	add("S001 S002", "status 500 for a right request", where(required,
		failing(http.StatusInternalServerError, `{"error": {"message": "parse error"}}`)))
	add("S021", "errors in another shape", refused(func(r *Reply) {
		r.Body = ordered.MustParse(`{"detail": [{"msg": "wrong"}]}`)
	}))
	add("S021", "errors with status 200", refused(func(r *Reply) { r.Status = http.StatusOK }))
	add("S021", "errors with status 500", refused(func(r *Reply) {
		r.Status = http.StatusInternalServerError
	}))
	add(differs, "the stream has more text", where(hello, deltaText("content", addText(" "))))
	add(leaks, "a marker leaks", where(hello, both(everywhere("hello.", "hello.</think>"))))
	add(leaks, "reasoning is in the content of a stream", where(and(hello, inStreams),
		deltaText("content", func(text string) string { return "<think>\nHm.</think>" + text })))
	add(half, "half a character", where(and(hello, inStreams),
		deltaText("content", func(string) string { return "\xc3" })))
	add("S011", "a character becomes U+FFFD in the stream", where(and(hello, inStreams),
		everywhere("ü", "\uFFFD\uFFFD")))
	add("S017", "a required call is missing", where(and(required, inPieces), prose("It rains.")))
	add("S017", "a call where none is allowed", where(func(r *Reply) bool {
		return mode(r) == "none" && !r.Stream
	}, called([2]string{"list_notes", "{}"})))
	add("S017", "another function than the one that is named", where(func(r *Reply) bool {
		return mode(r) == "named" && says("My notes")(r) && !r.Stream
	}, called([2]string{"get_weather", `{"city": "Bern"}`})))
	add("S017", "two calls where one is allowed", where(and(required, says("Weather in Bern?"),
		inPieces), called([2]string{"get_weather", forecast}, [2]string{"get_weather", forecast})))
	add("S018", "a call of a function that is not declared", where(and(required, inPieces),
		called([2]string{"rm", "{}"})))
	add("S018", "arguments that break the schema", where(and(required, inPieces),
		called([2]string{"get_weather", `{"city": "Bern", "days": "2"}`})))
	add("S019", "prose instead of JSON", where(and(schema, inPieces), prose("Sunny.")))
	add("S014", "a parallel call is dropped from the stream", where(and(parallel, inPieces),
		called([2]string{"get_weather", forecast}, [2]string{"get_weather", forecast})))
	add("S036", "content beside a call is the word null", where(and(required, inPieces),
		nullWord(p)))
	add("S037", "an answer that was cut off does not tell it", uncut(p))
	if p != wire.Responses { // which has none
		add("S034", "stop is ignored", ignoredStop(p))
	}
}

// nullWord puts the word null beside calls.
func nullWord(p wire.Protocol) func(*Reply) {
	return body(func(v ordered.Value) ordered.Value {
		switch p {
		case wire.ChatCompletions:
			return choice(to(ordered.Str("null"), "message", "content"))(v)
		case wire.Responses:
			return v.With("output", ordered.ArrayOf(append([]ordered.Value{
				ordered.MustParse(`{"type": "message", "id": "msg_null", "role": "assistant", "status": "completed",
				"content": [{"type": "output_text", "annotations": [], "text": "null"}]}`)},
				v.At("output").Items()...)...))
		}
		return v.With("content", ordered.ArrayOf(append([]ordered.Value{
			ordered.MustParse(`{"type": "text", "text": "null"}`)}, v.At("content").Items()...)...))
	})
}

// uncut takes the end of an answer that was cut off for the model's.
func uncut(p wire.Protocol) func(*Reply) {
	switch p {
	case wire.ChatCompletions:
		return everywhere(`"finish_reason": "length"`, `"finish_reason": "stop"`)
	case wire.Responses:
		return body(func(v ordered.Value) ordered.Value {
			if v.At("status").Text() == "incomplete" {
				v = replace(v, `"incomplete"`, `"completed"`).
					With("incomplete_details", ordered.Value{})
			}
			return v
		})
	}
	return everywhere(`"stop_reason": "max_tokens"`, `"stop_reason": "end_turn"`)
}

// ignoredStop writes a text after the content that a stop ended. The Responses have none.
func ignoredStop(p wire.Protocol) func(*Reply) {
	return func(r *Reply) {
		stop := r.Request.At("stop").Items()
		if p == wire.Messages {
			stop = r.Request.At("stop_sequences").Items()
		}
		if len(stop) == 0 || r.Stream || !r.OK() {
			return
		}
		if p == wire.Messages {
			n := len(r.Body.At("content").Items())
			if n == 0 {
				return
			}
			last := r.Body.At("content").Items()[n-1]
			r.Body = r.Body.With("content", ordered.ArrayOf(append(
				append([]ordered.Value(nil), r.Body.At("content").Items()[:n-1]...),
				last.With("text", ordered.Str(last.At("text").Text()+stop[0].Text())))...))
			return
		}
		choice := r.Body.At("choices").Items()[0]
		r.Body = r.Body.With("choices", ordered.ArrayOf(set(choice, ordered.Str(
			choice.At("message", "content").Text()+stop[0].Text()), "message", "content")))
	}
}

// remembering are faults that no reply shows alone.
func remembering(p wire.Protocol) []Fault {
	faults := []Fault{
		{Protocol: p, Name: "a stream that goes silent", Rules: "S005", Silent: true,
			Alter: always(where(and(required, inStreams), func(r *Reply) {
				r.Events, r.Hang = r.Events[:len(r.Events)/2], true
			}))},
		{Protocol: p, Name: "no answer comes", Rules: "S001 S002", Silent: true,
			Alter: always(where(and(required, inPieces), func(r *Reply) { r.Hang = true }))},
		{Protocol: p, Name: "the protocols differ", Rules: "S029", Beside: true,
			Alter: always(func(r *Reply) {
				if r.Protocol == p && hello(r) {
					deltaText("content", func(text string) string { return "So: " + text })(r)
					everywhere(`"Grüezi`, `"So: Grüezi`)(r)
				}
			})},
		{Protocol: p, Name: "one client reads another one's text", Rules: "S030",
			Alter: lasting(func() func(*Reply) {
				last := "" // the word of the one before
				return func(r *Reply) {
					_, word, ok := strings.Cut(r.Request.String(), Word)
					if !ok || !r.OK() {
						return
					}
					if word = word[:6]; last != "" {
						everywhere("It is ", "It is "+last)(r)
					}
					last = word
				}
			})},
		{Protocol: p, Name: "answers share an id", Rules: "S030",
			Alter: always(func(r *Reply) {
				n := fmt.Sprint(r.Number)
				for _, prefix := range [...]string{"chatcmpl-", "resp_", "msg_"} {
					everywhere(`"`+prefix+n+`"`, `"`+prefix+`same"`)(r)
				}
			})},
		{Protocol: p, Name: "the rest of a cancelled answer comes in the next one", Rules: "S031",
			Alter: lasting(func() func(*Reply) {
				streams := 0
				return func(r *Reply) {
					switch {
					case !r.OK() || r.Protocol != p:
					case r.Stream && hello(r):
						streams++
					default:
						if streams > 1 && hello(r) {
							everywhere("Grüezi", "hello. Grüezi")(r)
						}
						streams = 0
					}
				}
			})},
	}
	if p != wire.ChatCompletions { // which has no seals
		faults = append(faults, Fault{Protocol: p, Name: "another seal is taken back",
			Rules: "S032", Alter: lasting(func() func(*Reply) {
				var last ordered.Value
				return func(r *Reply) {
					switch {
					case r.OK() && !r.Stream:
						last = r.Body
					case says("Go on.")(r) && r.Status == http.StatusBadRequest:
						r.Status, r.Body = http.StatusOK, last
					}
				}
			})})
	}
	return faults
}
