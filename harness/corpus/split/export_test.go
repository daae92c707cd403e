package split

import (
	"github.com/goassay/assay/engine/chat"
)

// Protocol describes how deltas break the protocol (E24); empty means that they keep to it. No
// delta is empty or has both reasoning and content; a call's name comes once, first, with its id
// where there is one; only the last call grows; where the output is valid UTF-8, so is every delta;
// and all of them together are the message.
func Protocol(deltas []chat.Delta, message chat.Message, valid bool) string {
	sum := tally{valid: valid}
	sum.add(deltas)
	return sum.protocol(message)
}
