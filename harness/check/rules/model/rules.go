// Package model has the rules about a model as a whole: which template is taken by whom, and how
// its files agree. No template can suppress them.
//
// # Stability
//
// This package may change with every release; package engine lists the stable ones.
package model

// Rules are the rules of the package, in the order of their ids.
var Rules = []*Rule{
	LoadersDisagree,
	ToolsTemplateNotTaken,
	TemplateFileUnusable,
	TemplateMissing,
	LoaderFindsNone,
	SpecialTokensDiffer,
	BOSByBoth,
	BOSByNone,
	EndIsNoStop,
	StopEndsNoTurn,
	MarkerInPieces,
	HeaderMerges,
	TokenUnknown,
	EndsDisagree,
	ResponseTemplateUnread,
	ResponseTemplateDiffers,
}
