// Package growth renders requests that grow along one dimension, such as the number of messages,
// and finds words of the template's own that only a long one brings about.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package growth

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/chattemplate"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/sample"
)

const (
	LeastNumber = 4       // from here on a number in a template may be a threshold that others miss
	ManyOf      = 72      // so many messages, calls, tools, parts and arguments are tried
	LongText    = 1 << 15 // so many bytes has a long text
	mostNumbers = 48      // so many numbers of a template are tried for their own sake
	mostOf      = 512     // as long as they ask for no more messages than this,
	mostText    = 1 << 17 // and for no longer texts

	mostSwitches = 8      // so many variables of a template are set,
	mostSettings = 9      // in so many ways,
	mostAt       = 128    // at so many of a thing at most,
	mostSet      = 80_000 // and so many messages, calls, tools and parts are rendered under them

	mostSteps = 400_000 // so many steps take the requests that grow under no setting
)

// dimension is a way in which requests grow. It is tried at the sizes from 1 to small, at large,
// and at the numbers of a template up to most.
type dimension struct {
	name               string
	small, large, most int
	make               func(n int) chat.Request
}

var dimensions = []dimension{
	{"messages", 4, ManyOf, mostOf, func(n int) chat.Request { return chatting(nil, n) }},
	{"messages under a system message", 4, ManyOf, mostOf, func(n int) chat.Request {
		return chatting(sample.Talk(sample.System), n)
	}},
	{"rounds of tool calls", 2, ManyOf / 2, mostOf / 2, func(n int) chat.Request {
		messages := sample.Talk(sample.User)
		for range n {
			messages = append(messages, sample.WithText(sample.CallTurn, "ANSWERNEEDLE"),
				sample.Result)
		}
		return chat.Request{Messages: messages, Tools: sample.Tools()}
	}},
	{"calls", 3, ManyOf, mostOf, func(n int) chat.Request {
		var calls, results []ordered.Value
		for i := range n {
			id := fmt.Sprintf("callid%03d", i)
			calls = append(calls, chat.CallOf(id, "get_weather", sample.Arguments))
			results = append(results, sample.ResultOf(id, "RESULTNEEDLE"))
		}
		messages := append(sample.Talk(sample.User, sample.CallTurnOf(calls...)), results...)
		return chat.Request{Messages: messages, Tools: sample.Tools()}
	}},
	{"tools", 3, ManyOf, mostOf, func(n int) chat.Request {
		var tools []chat.Tool
		for i := range n {
			tools = append(tools, toolOf(fmt.Sprintf("find_boat_%d", i), 1))
		}
		return chat.Request{Messages: sample.Talk(sample.User), Tools: tools}
	}},
	{"arguments", 3, ManyOf, mostOf, func(n int) chat.Request {
		var members []ordered.Member
		for i := range n {
			members = append(members, ordered.MemberOf(fmt.Sprintf("key_%d", i),
				ordered.Str("CITYNEEDLE")))
		}
		call := chat.CallOf("callid001", "find_boat", ordered.ObjectOf(members...))
		return chat.Request{Messages: sample.Talk(sample.User, sample.CallTurnOf(call),
			chat.Result("callid001", "find_boat", "RESULTNEEDLE")),
			Tools: []chat.Tool{toolOf("find_boat", n)}}
	}},
	{"parts", 3, ManyOf, mostOf, func(n int) chat.Request {
		parts := make([]ordered.Value, n)
		for i := range parts {
			parts[i] = chat.TextPart(ordered.Str("USERNEEDLE"))
		}
		return chat.Request{Messages: sample.Talk(chat.MessageOf("user",
			ordered.ArrayOf(parts...)))}
	}},
	{"bytes of a text", 2, LongText, mostText, func(n int) chat.Request {
		text := strings.Repeat("so it is, and ", n/14+1)[:n]
		return chat.Request{Messages: sample.Talk(sample.WithText(sample.System, text),
			sample.WithText(sample.User, text),
			sample.WithText(sample.Answer, text).With("reasoning_content", ordered.Str(text)),
			sample.WithText(sample.LaterUser, text), sample.CallTurn, sample.ResultOf("callid001",
				text)),
			Tools: sample.Tools()}
	}},
}

// chatting is a chat of n messages after others.
func chatting(messages []ordered.Value, n int) chat.Request {
	for i := range n {
		if i%2 == 0 {
			messages = append(messages, sample.User)
		} else {
			messages = append(messages, sample.Answer)
		}
	}
	return chat.Request{Messages: messages, NoGeneration: n%2 == 0}
}

// toolOf is a tool with n parameters.
func toolOf(name string, n int) chat.Tool {
	var members []ordered.Member
	for i := range n {
		members = append(members, ordered.MemberOf(fmt.Sprintf("key_%d", i), ordered.Pairs(
			"type", "string", "description", "A place")))
	}
	parameters := ordered.Pairs("type", "object", "properties", ordered.ObjectOf(members...))
	return chat.Tool{Name: name, Parameters: parameters,
		Value: chat.ToolOf(name, "Does it", parameters)}
}

// Growth are the texts of the template's own in short requests, and the first one that only a long
// one brings about.
type Growth struct {
	Coverage jinja.Coverage  // of all of them
	known    map[string]bool // the words that follow each other in short ones
	set      int             // how much was rendered under the settings
	least    int64           // of the budget must be left
	Cut      bool            // not all numbers were tried under all settings
	Planted  news            // with messages that differ, too
	Repeated news            // with equal messages alone
}

// news is a finding; the zero one is none.
type news struct {
	Text string
	At   probe.Where
}

// Requests is the template on long requests.
var Requests = probe.NewFact(grow)

// grow renders short requests and long ones, under each setting of the template's switches.
func grow(s *probe.Subject) *Growth {
	g := &Growth{known: map[string]bool{}}
	budget := s.Template.ChatTemplate().Budget
	if budget != nil {
		g.least = max(1, budget.Left()-mostSteps)
	}
	for t := range prompts.Rendered(s) {
		g.Coverage.Add(&t.Seen.Coverage)
	}
	var counts, exact []int
	for _, n := range Numbers(s) {
		if n < LeastNumber {
			continue
		}
		counts = append(counts, n-1, n, n+1)
		if n <= mostAt {
			exact = append(exact, n)
		}
		if n >= ManyOf && n <= mostAt { // else the large requests have more
			exact = append(exact, n+1)
		}
	}
	settings := settings(s)
	growAll(s, g, nil, counts)
	if g.Cut {
		return g
	}
	if budget != nil {
		g.least = budget.Left() / 4 * 3 // the other rules need most of it
	}
	for _, set := range settings {
		growAll(s, g, set, exact)
	}
	return g
}

// growAll renders requests that grow along each dimension under a setting: large ones, and those of
// some counts.
func growAll(s *probe.Subject, g *Growth, set setting, counts []int) {
	for _, d := range dimensions {
		if g.Planted.Text != "" {
			return
		}
		sizes := []int{d.large}
		if len(set) > 0 { // many settings are tried, and the numbers beside them
			sizes[0] /= 2
		}
		for _, n := range counts {
			if n <= d.most+1 {
				sizes = append(sizes, n)
			}
		}
		slices.Sort(sizes)
		growAlong(s, g, d, set, slices.Compact(sizes))
	}
}

// growAlong renders requests of growing sizes under a setting, until one of them has text that the
// short ones have not, and that one of the size whose messages differ has, too.
func growAlong(s *probe.Subject, g *Growth, d dimension, set setting, sizes []int) {
	clear(g.known)
	varied := g.Repeated.Text != "" // equal messages have shown what they bring about
	render := func(n int) (chattemplate.Observation, bool) {
		r := d.make(n)
		if varied {
			r = unlike(r)
		}
		return size(s, g, d, r, n, set)
	}
	learn := func() {
		for n := 1; n <= d.small; n++ {
			if o, ok := render(n); ok {
				g.learn(o)
			}
		}
	}
	learn()
	for _, n := range sizes {
		o, ok := render(n)
		if !ok {
			continue
		}
		off, some := g.news(o)
		if !some {
			continue
		}
		if !varied {
			varied = true
			learn()
			other, ok := render(n)
			at, differ := g.news(other)
			if g.Cut {
				return
			}
			if ok && !differ {
				g.Repeated = told(o, off, d, fmt.Sprintf("%d equal %s%s", n, d.name, set))
				continue
			}
			if differ {
				o, off = other, at
			}
		}
		g.Planted = told(o, off, d, fmt.Sprintf("%d %s%s", n, d.name, set))
		return
	}
}

// told is the finding of text at an offset of a prompt.
func told(o chattemplate.Observation, off int, d dimension, size string) news {
	return news{fmt.Sprintf("with %s, and not with up to %d, the template adds text of its own",
		size, d.small), probe.WrittenAt(o, off)}
}

// unlike gives each message of a request, and each argument of a call, another text.
func unlike(r chat.Request) chat.Request {
	n := 0
	next := func(v ordered.Value) ordered.Value {
		if v.Kind() != ordered.String || v.Text() == "" {
			return v
		}
		n++
		word := ""
		for i := n; i > 0; i /= 26 {
			word += string(rune('a' + i%26))
		}
		return ordered.Str(v.Text() + " " + word)
	}
	messages := make([]ordered.Value, len(r.Messages))
	for i, m := range r.Messages {
		messages[i] = chat.WithArguments(m.With("content", next(m.At("content"))),
			func(arguments ordered.Value) ordered.Value {
				for _, member := range arguments.Members() {
					arguments = arguments.With(member.Key, next(member.Value))
				}
				return arguments
			})
	}
	r.Messages = messages
	return r
}

// size renders a request of a size under a setting; false where the template refuses it.
func size(s *probe.Subject, g *Growth, d dimension, r chat.Request, n int,
	set setting) (chattemplate.Observation, bool) {
	if len(set) > 0 {
		g.set += max(n*ManyOf/d.large, 1)
		r.Kwargs = ordered.ObjectOf(set...)
	}
	budget := s.Template.ChatTemplate().Budget
	if g.set > mostSet || budget != nil && budget.Left() < g.least {
		g.Cut = true
		return chattemplate.Observation{}, false
	}
	o, err := Seen(s, r)
	g.Coverage.Add(&o.Coverage)
	return o, err == nil
}

// Seen renders a request with its origins and branches.
func Seen(s *probe.Subject, r chat.Request) (chattemplate.Observation, error) {
	o, err := s.Template.ChatTemplate().ObserveBranches(s.Template.Caps().Fit(r).Input)
	s.Template.ChatTemplate().Charge(len(o.String))
	return o, err
}
