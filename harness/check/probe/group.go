package probe

// The groups of rules; the rules of none of them are in [rule.Lint].
const (
	GroupCompile = "compile" // it compiles and renders
	GroupVerify  = "verify"  // the analysis holds in a round trip
	GroupStream  = "stream"  // streaming equals non-streaming, and the delta protocol is kept
	GroupLeak    = "leak"    // no marker leaks
	GroupGrammar = "grammar" // grammar and parser agree
)
