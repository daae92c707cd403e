package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goassay/assay/harness/check/rule"
)

// ruleIndex is a rule for a server's answers, as its place in serverRules.
type ruleIndex int

// The rules, in the order of their ids.
const (
	ruleAccepts ruleIndex = iota
	ruleExtension
	ruleAnswerShape
	ruleEvents
	ruleStreamEnds
	ruleChunkShape
	ruleRole
	ruleExclusive
	ruleCallHeader
	ruleArguments
	ruleCharacters
	ruleFinish
	ruleUsage
	ruleAgrees
	ruleRepeats
	ruleLeak
	ruleChoice
	ruleCallValid
	ruleSchema
	ruleThinkingOff
	ruleErrorShape
	ruleRaw
	rulePrompt
	ruleNoRaw
	ruleOrder
	ruleNumbers
	ruleIDs
	ruleWhole
	ruleProtocols
	ruleApart
	ruleCancelled
	ruleSealed
	ruleCounted
	ruleStops
	ruleCustom
	ruleNull
	ruleCut
	numRules
)

// serverRules declares them.
var serverRules = [numRules]rule.Rule{
	ruleAccepts: {ID: "S001", Name: "request-accepted", Severity: rule.Error,
		Short: "A request within OpenAI's API is answered, in one piece and as a stream.",
		Damage: "The turn is lost: a schema, a tool choice or an odd output of the model ends " +
			"in an error although the request was right.",
		Fix: "Answer it. The model's text is never a reason for an error; the documentation " +
			"tells the server's limits."},
	ruleExtension: {ID: "S002", Name: "extension-accepted", Severity: rule.Warning,
		Short: "A request with chat_template_kwargs or continue_final_message, which other " +
			"servers have, is answered.",
		Damage: "Clients cannot turn thinking off, or go on with an answer.",
		Fix:    "Take the fields, or ignore them as unknown ones."},
	ruleAnswerShape: {ID: "S003", Name: "answer-shape", Severity: rule.Error,
		Short: "An answer in one piece is JSON in the shape of its protocol; in chat completions " +
			"one choice: index 0, an assistant's message, a finish reason, texts that are " +
			"strings.",
		Damage: "Clients in typed languages fail to decode the answer.",
		Fix:    "Follow the protocol's reference of the object."},
	ruleEvents: {ID: "S004", Name: "events", Severity: rule.Error,
		Short: "Every event of a stream is a line \"data:\" with a JSON object, ended by " +
			"an empty line, and no line is beyond the limit. In Responses and Messages a line " +
			"\"event:\" names the type of the data.",
		Damage: "Clients ignore a line that is no event, so that text or an error is lost " +
			"without a trace.",
		Fix: "Write each chunk as \"data: {...}\" and an empty line; errors as well."},
	ruleStreamEnds: {ID: "S005", Name: "stream-ends", Severity: rule.Error,
		Short: "A stream comes to its end: in chat completions a finish reason, then [DONE]; in " +
			"Responses response.completed or response.incomplete; in Messages message_stop. " +
			"Nothing comes after it, and no error and no silence before it.",
		Damage: "Clients take half an answer for the whole, or wait for ever.",
		Fix: "End every stream as its protocol does, once; send an error before the first event " +
			"or not at all."},
	ruleChunkShape: {ID: "S006", Name: "chunk-shape", Severity: rule.Error,
		Short: "Every event has the members and types of its protocol. In chat completions every " +
			"chunk is a chat.completion.chunk with the same id and model, one choice of index 0 " +
			"with a delta, and nothing but usage after the finish reason.",
		Damage: "Clients that tell answers apart by id or index put them together wrongly; typed " +
			"ones fail.",
		Fix: "Follow the protocol's reference of the event."},
	ruleRole: {ID: "S007", Name: "role-first", Severity: rule.Error,
		Short: "The first delta has the role assistant, and no later one another.",
		Damage: "Clients that make a message of the first delta have one without a role, which " +
			"the next request then carries.",
		Fix: "Send the role with the first delta, before any text."},
	ruleExclusive: {ID: "S008", Name: "one-part-a-delta", Severity: rule.Error,
		Short:  "No delta has both reasoning and content.",
		Damage: "Clients that show the one or the other lose a piece where the two meet.",
		Fix:    "Split the delta in two."},
	ruleCallHeader: {ID: "S009", Name: "call-header", Severity: rule.Error,
		Short: "Calls are numbered from 0 without gaps, only the last one grows, and its id, " +
			"type and name come once, whole, in its first delta; no two calls have one id.",
		Damage: "Clients concatenate: a name that comes twice reads \"get_weatherget_weather\"; " +
			"a shifted index makes a call of its own.",
		Fix: "Send id, type and name with the first delta of a call, and only index and " +
			"arguments afterwards."},
	ruleArguments: {ID: "S010", Name: "call-arguments", Severity: rule.Error,
		Short: "The arguments of a complete call, put together, are the text of one JSON object.",
		Damage: "Encoded twice they arrive as a string; in fragments that overlap or are missing " +
			"they cannot be decoded.",
		Fix: "Send each byte of the arguments once, and encode them as one string."},
	ruleCharacters: {ID: "S011", Name: "whole-characters", Severity: rule.Error,
		Short: "A stream has valid UTF-8, and no replacement character that the answer " +
			"in one piece has not.",
		Damage: "A character whose bytes are in two tokens reads \"\uFFFD\" when it is streamed.",
		Fix:    "Hold the bytes of a character back until it is whole."},
	ruleFinish: {ID: "S012", Name: "finish-reason", Severity: rule.Error,
		Short: "The finish reason is tool_calls where the model called (or stop, where a named " +
			"call was demanded), length where the limit cut it off, else stop.",
		Damage: "Agents stop where they should call, or run a call that was cut off.",
		Fix:    "Decide on the reason by the message that was sent."},
	ruleUsage: {ID: "S013", Name: "usage", Severity: rule.Error,
		Short: "Usage counts tokens, adds up, keeps to the bound of the request, counts the same " +
			"prompt alike, and comes with a stream; in chat completions where stream_options " +
			"asks for it, in a last chunk without choices.",
		Damage: "Accounting is wrong, and contexts overflow.",
		Fix:    "Follow the protocol's reference of usage."},
	ruleAgrees: {ID: "S014", Name: "stream-agrees", Severity: rule.Error,
		Short: "The stream, put together, is the answer in one piece: reasoning, content, " +
			"calls, finish reason.",
		Damage: "The same model calls a tool when it is asked one way and prints the call " +
			"when it is asked the other.",
		Fix: "Parse once: an answer in one piece is a stream that is put together. Text that " +
			"may turn out to be a marker is held back, never taken back."},
	ruleRepeats: {ID: "S015", Name: "repeats", Severity: rule.Note,
		Short: "The same request with the same seed gives the same answer.",
		Damage: "Nothing by itself. Where a server does not repeat itself, only the structure of " +
			"answers was compared, and less was proven.",
		Fix: "Run it with one slot and without caching prompts, if the proof is wanted."},
	ruleLeak: {ID: "S016", Name: "no-leak", Severity: rule.Error,
		Short: "No marker of the template's format is in content or reasoning; where the template " +
			"is not known, no marker of any format that is.",
		Damage: "Users read \"</think>\" or \"<tool_call>\".",
		Fix:    "Parse the format that the template shows; hold back text that may become a marker."},
	ruleChoice: {ID: "S017", Name: "choice-obeyed", Severity: rule.Error,
		Short: "The choice of tools is obeyed, in each protocol's words: a call where one is required, " +
			"of the function that was named, none where none is allowed, one where only one is.",
		Damage: "Clients that demand a call get prose and have nothing to run.",
		Fix:    "Constrain the answer by a grammar from its beginning, reasoning included."},
	ruleCallValid: {ID: "S018", Name: "call-valid", Severity: rule.Error,
		Short: "A call is of a declared function, and its arguments satisfy the " +
			"function's schema.",
		Damage: "A postal code becomes a number, an enumeration gets a fourth value, a required " +
			"argument is missing.",
		Fix: "Read values by the schema and not by their looks; constrain them by it."},
	ruleSchema: {ID: "S019", Name: "schema-obeyed", Severity: rule.Error,
		Short: "Where response_format has a schema, the content is JSON that satisfies it.",
		Damage: "Structured output is not structured; mostly the grammar was dropped " +
			"without a word.",
		Fix: "Constrain the answer, or refuse the request."},
	ruleThinkingOff: {ID: "S020", Name: "thinking-off", Severity: rule.Error,
		Short:  "Where thinking is turned off, the answer is content.",
		Damage: "The answer arrives as reasoning and the content is empty.",
		Fix: "Begin to parse where the prompt ends: a block that the prompt has " +
			"closed is closed."},
	ruleErrorShape: {ID: "S021", Name: "error-shape", Severity: rule.Error,
		Short: "A request that is wrong is refused with a status from 400 to 499 and an object " +
			"\"error\" that has a message and a type, in the protocol's shape, streaming or not.",
		Damage: "Clients show \"undefined\", or retry a request that can never succeed.",
		Fix:    "Check the request before the stream begins, and answer in the protocol's shape."},
	ruleRaw: {ID: "S022", Name: "raw-agrees", Severity: rule.Error,
		Short: "Read by this project's parser, the text that the model wrote is the same " +
			"message, white space at the edges apart.",
		Damage: "Whatever the two readings differ in: reasoning in the content, calls as text, " +
			"numbers as strings.",
		Fix: "See which of the two is right: `assay parse --explain` shows how this " +
			"one comes about."},
	rulePrompt: {ID: "S023", Name: "prompt-agrees", Severity: rule.Warning,
		Short:  "The server renders the prompt as this project does, which is as jinja2 does.",
		Damage: "The model reads text on which it was not trained, and answers worse.",
		Fix:    "`assay render` shows the prompt; compare the place where they part."},
	ruleNoRaw: {ID: "S024", Name: "raw-known", Severity: rule.Note,
		Short:  "The text that the model wrote can be had.",
		Damage: "Nothing by itself. Without it the answers were compared with each other only.",
		Fix: "llama-server gives it with every answer when it runs with --verbose; other " +
			"servers for answers that nothing constrains, by /v1/completions."},
	ruleOrder: {ID: "S025", Name: "event-order", Severity: rule.Error,
		Short: "The events of Responses and Messages come in their order: the answer begins, each " +
			"item or block begins, grows and ends before the next one, and the answer ends.",
		Damage: "Clients append to a block that is not there, or lose the one that has not ended.",
		Fix:    "Keep the open item in one variable, and end it before the next one begins."},
	ruleNumbers: {ID: "S026", Name: "event-numbers", Severity: rule.Error,
		Short: "Indices of items, blocks and parts, and sequence numbers, count from 0 without " +
			"gaps, and an event has that of the open item.",
		Damage: "Clients put text into another block, or wait for an event that never comes.",
		Fix:    "Count what has been sent; nothing else has these numbers."},
	ruleIDs: {ID: "S027", Name: "event-ids", Severity: rule.Error,
		Short: "An answer, its items and its calls have ids; each stays the same, no two are the " +
			"same, and an event names the item that is open.",
		Damage: "Clients that keep items by id overwrite one with the other; results of calls are " +
			"handed back for another call.",
		Fix: "Make an id when an answer, an item or a call begins, and keep it."},
	ruleWhole: {ID: "S028", Name: "whole-is-deltas", Severity: rule.Error,
		Short:  "Where a protocol repeats a text or an item as a whole, it is its deltas put together.",
		Damage: "Clients that read deltas and clients that read the last event see two answers.",
		Fix:    "Send in the last event the very text of the deltas."},
	ruleProtocols: {ID: "S029", Name: "protocols-agree", Severity: rule.Error,
		Short:  "The same request has the same answer in chat completions, Responses and Messages.",
		Damage: "A model calls tools for one client and prints the call for the other.",
		Fix:    "Translate requests and answers at the edge; render, sample and parse in one place."},
	ruleApart: {ID: "S030", Name: "clients-apart", Severity: rule.Error,
		Short: "Of 32 clients at once, each is answered in its protocol, with an id of its own and " +
			"with no byte of another one's answer.",
		Damage: "Somebody reads another person's text.",
		Fix:    "Keep the state of an answer with its request, parser and buffers included."},
	ruleCancelled: {ID: "S031", Name: "cancelled-cleanly", Severity: rule.Error,
		Short: "After a client has gone away in mid-stream the next request is answered as before.",
		Damage: "Agents cancel all the time: the server stalls, or goes on with the old answer in " +
			"the new one.",
		Fix: "End the work of a request whose connection is closed, and free its slot."},
	ruleSealed: {ID: "S032", Name: "seal-kept", Severity: rule.Warning,
		Short: "Reasoning that is handed back with another signature, or other encrypted content, " +
			"than the server gave is refused.",
		Damage: "Anybody puts thoughts into the model's head, and a client's fault is not noticed.",
		Fix:    "Sign what is sent, and check it when it comes back."},
	ruleCounted: {ID: "S033", Name: "tokens-counted", Severity: rule.Error,
		Short:  "/v1/messages/count_tokens, where there is one, counts as the usage of an answer does.",
		Damage: "Agents compact a conversation too late, and the context overflows.",
		Fix:    "Count the tokens of the prompt that the request renders to."},
	ruleStops: {ID: "S034", Name: "stops-obeyed", Severity: rule.Error,
		Short: "A text of stop ends the content before it, with the reason stop; in Messages with " +
			"stop_sequence and the text itself.",
		Damage: "Programs that cut at a stop read on into text that they did not want.",
		Fix:    "Look for stops in the content that is sent, across the borders of tokens."},
	ruleCustom: {ID: "S035", Name: "custom-tool", Severity: rule.Error,
		Short:  "A call of a custom tool comes as one, and its input keeps to the tool's grammar.",
		Damage: "A client that expects a patch finds JSON around it.",
		Fix: "Constrain the input by the grammar, and send it as text and not as an object; " +
			"refuse tools that are not served."},
	ruleNull: {ID: "S036", Name: "null-is-null", Severity: rule.Error,
		Short:  "Content that is absent beside a call is null or empty, and no word for it.",
		Damage: "Users read \"null\" or \"None\".",
		Fix:    "Keep absence apart from text until the JSON is written."},
	ruleCut: {ID: "S037", Name: "cut-is-told", Severity: rule.Error,
		Short: "An answer that the bound on its tokens ends has at most so many, and tells it: " +
			"length, incomplete with max_output_tokens, max_tokens.",
		Damage: "Clients take half an answer for the whole, and an agent runs half a call.",
		Fix:    "Pass the sampler's reason on."},
}

// Rules declares the rules that a server is held to.
func Rules() []rule.Rule {
	return slices.Clone(serverRules[:])
}

// Book has every rule: docs/reference/server-rules.md.
func Book() *rule.Book {
	return &rule.Book{
		Title: "Rules for servers",
		Intro: "The rules of `assay probe`; [servers.md](../servers.md) describes how to run it. " +
			"An error fails the run, a warning and a note do not.",
		Rules: Rules(),
	}
}

// sheet takes the findings of one scenario.
type sheet struct {
	scenario string
	looked   [numRules]bool
	faults   [numRules]rule.Findings
}

// look reports whether a rule applies.
func (s *sheet) look(rules ...ruleIndex) {
	for _, r := range rules {
		s.looked[r] = true
	}
}

// fault adds a fault: its cause, which is the same text wherever it is seen, and evidence.
func (s *sheet) fault(r ruleIndex, cause, evidence string, args ...any) {
	s.looked[r] = true
	if evidence != "" {
		cause += "\n" + strings.TrimSuffix(fmt.Sprintf(evidence, args...), ": ")
	}
	s.faults[r].Add(rule.Place{}, cause)
}

// any reports whether a rule was looked at.
func (s *sheet) any() bool { return slices.Contains(s.looked[:], true) }

// String lists all faults.
func (s *sheet) String() string {
	var texts []string
	for i := range s.faults {
		if text := s.faults[i].String(); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

// results returns the results of each rule that was looked at.
func (s *sheet) results(suite string) []rule.Result {
	var results []rule.Result
	for i := range serverRules {
		if r := &serverRules[i]; s.looked[i] {
			results = append(results,
				r.Results(rule.Result{Suite: suite, Group: "server",
					Name: s.scenario + "/" + r.Name}, &s.faults[i])...)
		}
	}
	return results
}
