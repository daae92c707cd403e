package check

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/codegen"
	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/gbnf"
	"github.com/goassay/assay/engine/jinja"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/engine/stream"
	"github.com/goassay/assay/engine/verify"
	"github.com/goassay/assay/harness/rule"
	"github.com/goassay/assay/harness/split"
	"github.com/goassay/assay/harness/standard"
)

var proofRules = []lookout{
	{Rule: rule.Rule{ID: "A003", Name: "analysis-unverified", Severity: rule.Error,
		Short: "The text that the template writes for a message is not read back as that message, " +
			"or the format that was found spells it otherwise.",
		Damage: "Tool calls arrive as content, arguments change their type, reasoning is lost.",
		Fix: "`assay analyze --explain` shows each comparison's finding; CONTRIBUTING describes " +
			"the remedy where it misses something."},
		Group: groupVerify, Find: checkVerified},
	{Rule: rule.Rule{ID: "A057", Name: "turn-ambiguous", Severity: rule.Warning,
		Short: "The template writes a message in a way that means another one as well.",
		Damage: "No parser can tell the two apart: an answer arrives as reasoning, or " +
			"an argument ends where it should not.",
		Fix: "Write the parts of a message differently: close reasoning before content, " +
			"escape the end of a string."},
		Group: groupVerify, Find: checkUnambiguous},
	{Rule: rule.Rule{ID: "A004", Name: "stream-differs", Severity: rule.Error,
		Short: "A message depends on how the output is cut into chunks, or the deltas " +
			"break the protocol.",
		Damage: "Clients that stream see another answer than clients that do not, or a broken one.",
		Fix: "This is a bug of the engine: please report it " +
			"with the template."}, Group: groupStream, Find: checkStream},
	{Rule: rule.Rule{ID: "A005", Name: "marker-leaks", Severity: rule.Error,
		Short:  "A marker of the format shows up in the content or the reasoning of a message.",
		Damage: "Users read <think> or [TOOL_CALLS] in the answer.",
		Fix: "`assay analyze` lists the markers; one of them is written in more than one " +
			"way, or not always."}, Group: groupLeak, Find: checkLeaks},
	{Rule: rule.Rule{ID: "A006", Name: "grammar-rejects-turn", Severity: rule.Error,
		Short: "The grammar does not take a call as the template itself writes it.",
		Damage: "Constrained decoding forces the model off the spelling it was " +
			"trained on, or fails.",
		Fix: "Close in every branch each marker that it opens. If it does, this is a bug of the " +
			"engine: please report it " +
			"with the template."}, Group: groupGrammar, Find: checkGrammarTakes},
	{Rule: rule.Rule{ID: "A007", Name: "sample-not-parsed", Severity: rule.Error,
		Short:  "A sentence of the grammar is not parsed as calls.",
		Damage: "An answer that was constrained to be a call arrives as content.",
		Fix: "This is a bug of the engine: please report it " +
			"with the template."}, Group: groupGrammar, Find: checkSamples},
	{Rule: rule.Rule{ID: "A011", Name: "not-escapable", Severity: rule.Warning,
		Short: "An argument that contains the format's own closing markers cannot be told from " +
			"the end of the argument.",
		Damage: "A model that writes code about tool calls gets its arguments cut off silently.",
		Fix: "Escape values (as JSON, CDATA or entities), or choose closing markers that are " +
			"special tokens."}, Group: groupLint, Find: checkEscapable},
	{Rule: rule.Rule{ID: "A034", Name: "plain-answer-misread", Severity: rule.Error,
		Short:  "A plain answer is not read as content under every setting of thinking.",
		Damage: "The answer lands in reasoning_content and the content is null.",
		Fix: "Let the generation prompt close the reasoning block " +
			"when thinking is off."}, Group: groupVerify, Find: checkPlainAnswer},
	{Rule: rule.Rule{ID: "A037", Name: "shape-dropped", Severity: rule.Note,
		Short: "The template does not write a part of some messages, so that nothing shows how " +
			"the model spells it.",
		Damage: "The history that the model sees lacks its own words: content beside calls, say.",
		Fix: "Write every part of a message; if the template leaves one out on " +
			"purpose, there is nothing to do."}, Group: groupLint, Find: checkDropped},
	{Rule: rule.Rule{ID: "A038", Name: "calls-undisclosed", Severity: rule.Warning,
		Short: "The template describes tools and never writes a call.",
		Damage: "A server can only guess how the model spells calls, and the model does not see " +
			"the calls that it made.",
		Fix: "Write the calls of an assistant's message in the spelling that the model " +
			"was trained on."}, Group: groupLint, Find: checkDisclosed},
}

func checkVerified(s *Subject, find finder) {
	g := s.grouped()
	for _, shape := range s.Template.Verify().Shapes {
		text := ""
		for _, fault := range shape.Faults {
			switch {
			case fault.Proof == verify.Grammar: // A006
			case shape.Turn == "":
				text += "; cannot be read back: " + fault.Text
			case fault.Proof == verify.Parse:
				text += "; read back as something else: " + fault.Text
			default:
				text += "; the format spells something else: " + fault.Text
			}
		}
		if text == "" {
			continue
		}
		if text = shape.Name + ": " + text[2:]; shape.Turn != "" {
			text += fmt.Sprintf("\nturn: %q", shape.Turn)
		}
		// Of shapes with calls that fail a proof the first one says why, and so it is with those
		// without.
		g.add(shape, fmt.Sprint(shape.Tools), "%s", text)
	}
	// Where nothing failed and nothing is proven, a template that writes no answers shows nothing
	// that could be wrong; one that refuses them, or that declares calls and writes none, hides
	// them. One that refuses answers and never looks at whether an answer is asked for has none: it
	// serves an embedding or a judge, and no chat.
	report, gate := s.Template.Verify(), s.Template.Gate()
	refuses := report.Shapes[0].Verdict == verify.Refused && s.prompts()
	if gate.Unverified != nil && report.OK() && (gate.ToolCapable() || refuses) {
		unjudged(find, gate.Unverified)
	}
	var whys []string
	names := map[string][]string{}
	for _, shape := range s.Template.Verify().Shapes {
		if shape.Verdict == verify.Unjudged {
			if names[shape.Note] == nil {
				whys = append(whys, shape.Note)
			}
			names[shape.Note] = append(names[shape.Note], shape.Name)
		}
	}
	for _, why := range whys {
		unjudged(find, fmt.Errorf("%s: %s", strings.Join(names[why], ", "), why))
	}
	g.find(find, "also fails (`assay analyze "+
		"--verify` shows how)", func(shape verify.Shape) where { return s.turn(shape.Tools) })
}

// prompts reports whether the template looks at whether an answer is asked for.
func (s *Subject) prompts() bool {
	asked, err := s.fitted(talk(userTurn), false, true)
	o, ok := asked.observe()
	if err != nil || !ok {
		return true // nothing is known of it
	}
	_, looked := o.Trace.Reading("add_generation_prompt")
	return looked
}

func checkUnambiguous(s *Subject, find finder) {
	g := s.grouped()
	for _, shape := range s.Template.Verify().Shapes {
		if shape.Verdict == verify.Ambiguous {
			g.add(shape, shape.Note, "%s: %s\nturn: %q", shape.Name, shape.Note, shape.Turn)
		}
	}
	g.find(find, "the same", func(shape verify.Shape) where { return s.turn(shape.Tools) })
}

func checkDropped(s *Subject, find finder) {
	g := s.grouped()
	for _, shape := range s.Template.Verify().Shapes {
		if shape.Verdict == verify.Dropped && (!shape.Tools || s.Template.Caps().ToolCalls) {
			g.add(shape, shape.Note, "%s: %s", shape.Name, shape.Note)
		}
	}
	g.find(find, "the same", func(shape verify.Shape) where { return s.near(shape.Tools) })
}

// near is the place that last looked at the part of a turn with calls, or with reasoning, that the
// prompt lacks.
func (s *Subject) near(tools bool) where {
	turn := thinkingTurn
	needles := []string{"REASONNEEDLE", "ANSWERNEEDLE"}
	if tools {
		turn = fullTurn(callValue, chat.CallOf("callid001", "get_weather",
			objectArguments.With("city", ordered.Str("SECONDCITY"))))
		needles = []string{"CITYNEEDLE", "SECONDCITY", "REASONNEEDLE", "ANSWERNEEDLE"}
	}
	prompt, err := s.fitted(talk(userTurn, turn), tools, false)
	if gone := prompt.lacks(needles...); err == nil && gone != nil {
		return prompt.near(gone[0])
	}
	return nowhere
}

// grouped gathers the findings about shapes, so that one fault that several shapes show is one
// finding.
func (s *Subject) grouped() *groups { return &groups{index: map[string]int{}} }

type groups struct {
	index map[string]int // cause -> place in list
	list  []group
}

type group struct {
	first verify.Shape
	err   error
	names []string // of further shapes
}

// add adds a finding; findings with the same cause are one.
func (g *groups) add(shape verify.Shape, cause, format string, args ...any) {
	if at, ok := g.index[cause]; ok {
		g.list[at].names = append(g.list[at].names, shape.Name)
		return
	}
	g.index[cause] = len(g.list)
	g.list = append(g.list, group{first: shape, err: fmt.Errorf(format, args...)})
}

func (g *groups) find(find finder, further string, at func(verify.Shape) where) {
	for _, group := range g.list {
		if group.names != nil {
			find(at(group.first), "%w\n%s: %s", group.err, further, strings.Join(group.names, ", "))
		} else {
			find(at(group.first), "%w", group.err)
		}
	}
}

func checkDisclosed(s *Subject, find finder) {
	if s.Template.Analysis().Format.Undisclosed {
		find(s.toolsAt(), "tools are described, calls are not written; a parser must be told the "+
			"spelling (--fallback), or tries the registered ones")
	}
}

// toolsAt is the place that describes tools.
func (s *Subject) toolsAt() where {
	prompt, err := s.fitted(talk(userTurn), true, true)
	if err != nil {
		return nowhere
	}
	return prompt.of("get_weather")
}

// plan generates a parser for turns as the template writes them, without a prefill.
func (s *Subject) plan(o codegen.Options) (*codegen.Output, error) {
	o.Tolerances, o.Fallbacks = codegen.Usual, s.Options.Fallbacks
	return codegen.Generate(s.Template.Analysis().Format, o)
}

// turns yields the turns that verify proved, with a plan that reads them.
func (s *Subject) turns(yield func(shape verify.Shape, plan *codegen.Output)) error {
	plan, err := s.turnPlan()
	if err != nil {
		return err
	}
	for _, shape := range s.Template.Verify().Shapes {
		if shape.Verdict == verify.Verified {
			yield(shape, plan)
		}
	}
	return nil
}

func checkStream(s *Subject, find finder) {
	err := s.turns(func(shape verify.Shape, plan *codegen.Output) {
		_, mismatch := split.CheckSchedules(stream.NewParser(plan), shape.Turn, chat.FinishStop,
			split.Few(len(shape.Turn)))
		if mismatch != nil {
			find(s.turn(shape.Tools), "%s: %w", shape.Name, mismatch)
		}
	})
	if err != nil {
		find(nowhere, "%w", err)
	}
}

// shortestMarker is the number of bytes from which a marker is distinctive enough for its leak to
// mean something.
const shortestMarker = 4

func checkLeaks(s *Subject, find finder) {
	markers := distinctive(s.Template.Analysis().Format)
	err := s.turns(func(shape verify.Shape, plan *codegen.Output) {
		message := split.Feed(stream.NewParser(plan), shape.Turn, nil, chat.FinishStop).Message
		for _, marker := range markers {
			if strings.Contains(message.Content, marker) ||
				strings.Contains(message.Reasoning, marker) {
				find(s.of(marker), "%s: %q leaks: %s", shape.Name, marker, message.Value())
			}
		}
	})
	if err != nil {
		find(nowhere, "%w", err)
	}
}

// distinctive returns the markers of a format that no ordinary text contains.
func distinctive(f format.Format) []string {
	var texts []string
	add := func(markers ...format.Marker) {
		for _, m := range markers {
			if len(m.Text) >= shortestMarker {
				texts = append(texts, m.Text)
			}
		}
	}
	add(f.Reasoning.Open, f.Reasoning.Close, f.Content.Open, f.Content.Close)
	for _, c := range f.Calls {
		if !c.Tentative {
			add(c.Section.Open, c.Section.Close, c.Call.Open, c.Call.Close)
		}
	}
	for _, r := range f.Routes {
		add(r.Start)
		add(r.Close...)
	}
	return texts
}

func checkGrammarTakes(s *Subject, find finder) {
	g := s.grouped()
	for _, shape := range s.Template.Verify().Shapes {
		for _, fault := range shape.Faults {
			if fault.Proof == verify.Grammar {
				_, expected, _ := strings.Cut(fault.Text, "\nit expects ")
				g.add(shape, expected, "%s: %s\nturn: %q", shape.Name, fault.Text, shape.Turn)
			}
		}
	}
	g.find(find, "the same", func(shape verify.Shape) where { return s.turn(shape.Tools) })
}

// failedCall reports whether a shape with calls failed.
func failedCall(s verify.Shape) bool { return s.Tools && s.Verdict == verify.Failed }

// samples is the number of sentences that are drawn from a grammar.
const samples = 16

func checkSamples(s *Subject, find finder) {
	if i := slices.IndexFunc(s.Template.Verify().Shapes, failedCall); i >= 0 {
		unjudged(find, fmt.Errorf("the spelling of calls is "+
			"not verified: %s", s.Template.Verify().Shapes[i].Name))
		return
	}
	if !s.Template.Analysis().HasCalls() && len(s.Options.Fallbacks) == 0 {
		return
	}
	plan, err := s.plan(codegen.Options{Tools: verify.Tools(), Parallel: true,
		Choice: chat.ToolChoice{Mode: chat.ChoiceRequired}})
	if err != nil {
		find(nowhere, "%w", err)
		return
	}
	grammar, err := plan.Grammar()
	if err != nil {
		find(nowhere, "%w", err)
		return
	} else if grammar == nil {
		find(nowhere, "the request has no grammar")
		return
	}
	for seed := range int64(samples) {
		text, err := sample(grammar, seed)
		if err != nil {
			find(nowhere, "seed %d: %w", seed, err)
			return
		}
		if answer := split.Feed(stream.NewParser(plan), text, nil,
			chat.FinishStop); answer.Finish != chat.FinishToolCalls {
			find(s.turn(true), "seed %d: %q is read as %s", seed, text, answer.Message.Value())
			return
		}
	}
}

func sample(grammar *gbnf.Grammar, seed int64) (string, error) {
	sampler, err := gbnf.NewSampler(grammar, rand.New(rand.NewSource(seed)))
	if err != nil {
		return "", err
	}
	return sampler.Sample()
}

// checkEscapable writes into an argument the text that the template writes after it.
func checkEscapable(s *Subject, find finder) {
	const needle = "VALUENEEDLE"
	call := func(value string) (rendering, error) {
		args := objectArguments.With("city", ordered.Str(value))
		return s.fitted(talk(userTurn, callingWith(args)), true, false)
	}
	plain, err := call(needle)
	_, tail, ok := strings.Cut(plain.text, needle)
	if s.Template.Caps().ToolCalls && !judged(find, err) || !ok {
		return
	}
	plan, err := s.plan(codegen.Options{Tools: standard.ToolRequest().Tools, Parallel: true})
	if !judged(find, err) {
		return
	}
	read := func(text rendering, value string) (message chat.Message, back, ok bool) {
		turn, ok := s.turnOf(text.text)
		if !ok {
			return message, false, false
		}
		message = split.Feed(stream.NewParser(plan), turn, nil, chat.FinishStop).Message
		return message, len(message.ToolCalls) == 1 &&
			strings.Contains(message.ToolCalls[0].Arguments, jsonString(value)), true
	}
	if _, back, _ := read(plain, needle); !back {
		return // not even the plain value is read, which is no matter of escapes
	}
	value := "before " + strings.TrimSpace(tail) + " after"
	text, err := call(value)
	if !judged(find, err) {
		return
	}
	message, back, ok := read(text, value)
	if back || !ok {
		return
	}
	find(plain.of(needle), "an argument with the text %q does "+
		"not come back: %s", value, message.Value())
}

// checkPlainAnswer parses a plain answer with thinking as it comes, on and off.
func checkPlainAnswer(s *Subject, find finder) {
	for _, mode := range thinkingModes() {
		r := chat.Request{Messages: talk(userTurn), EnableThinking: mode.on}
		if mode.on != nil && s.refused(r) {
			// that thinking cannot be switched so is the template's own choice, and no answer is
			// misread
			continue
		}
		plan, err := s.prepare(r)
		if err != nil {
			find(nowhere, "thinking %s: %w", mode.name, err)
			continue
		}
		output := s.plainOutput(plan.Prefill)
		message := plan.Parse(output, chat.FinishStop).Message
		if strings.TrimRight(message.Content, format.Space) != plainAnswer ||
			strings.Contains(message.Reasoning, plainAnswer) {
			written, _ := s.ask(r)
			find(written.at(len(plan.Prompt.Text)-len(plan.Prefill)), "thinking %s: %q after the "+
				"prefill %q is read as %s", mode.name, output, plan.Prefill, message.Value())
		}
	}
}

// refused reports whether the template itself refuses a request, by raise_exception.
func (s *Subject) refused(r chat.Request) bool {
	_, err := s.ask(r)
	return jinja.Class(err) == "TemplateError"
}

const plainAnswer = "It is a plain answer."

// plainOutput is a model's output for a plain answer: the template's text after the prefill or,
// where the prompt opened reasoning, the end of reasoning and the answer.
func (s *Subject) plainOutput(prefill string) string {
	text, err := s.fitted(talk(userTurn, answering(plainAnswer)), false, false)
	if turn, ok := s.turnOf(text.text); err == nil && ok {
		output, ok := strings.CutPrefix(turn, prefill)
		if ok && strings.Contains(output, plainAnswer) &&
			strings.Contains(output, s.opened(prefill)) {
			return output
		}
	}
	return s.opened(prefill) + s.contentMarkers(plainAnswer)
}
