// Package content has the rules about the texts of messages on their way to the prompt.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package content

import "github.com/goassay/assay/harness/check/probe"

// Rules are the rules of the package, in the order of their ids.
var Rules = []*probe.Rule{
	NullContentPrinted,
	SystemTextDropped,
	MessageTextDropped,
	TypedContentPrinted,
	NullAnswerPrinted,
	LaterInstructionsDropped,
	TextDoubled,
	OrderChanged,
	RoleChanged,
	TextChanged,
	ContentFormDropped,
	PartDropped,
	DeveloperUnheard,
	HistoryUnwritten,
	NoChat,
	ConversationJudged,
	DefaultBesideOwn,
	TextContentRefused,
	DefaultsDiffer,
}
