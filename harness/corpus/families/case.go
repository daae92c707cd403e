package families

import (
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
)

// Case holds the statements of a script of a family about one output, for those who do not run
// scripts; package script reads it.
type Case struct {
	Name      string // the script's file name without its ending
	Number    int    // of the case in its script, from 0
	About     string // the comment at its start
	Family    string // the argument of `template`
	Template  string // the template's text where the script itself has it
	Request   ordered.Value
	Fallbacks []string
	Prompt    string // the expected prompt; HasPrompt reports that there is one
	HasPrompt bool
	Output    string
	Message   chat.Message
	Parsed    bool              // the case has an output and a message
	Reason    chat.FinishReason // why the output ended; empty: the model ended its turn
	Accepts   bool              // the grammar takes the output
	Finish    chat.FinishReason
	Roundtrip bool // the message, rendered as the answer, is read back; there is no output
}
