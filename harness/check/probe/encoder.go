package probe

import "github.com/goassay/assay/engine/ordered"

// Encoder writes a model's prompts without its template: the program of the format's publisher.
type Encoder interface {
	// String is the name with the version: "openai-harmony 0.0.8".
	String() string
	// Encode writes the prompt of a request, which comes as the variables that a template sees.
	// The error tells that the program itself failed.
	Encode(vars ordered.Value) (Encoded, error)
	// Tokenize returns the tokens of a prompt as text, in which each marker is a control token;
	// nil where the encoder tells none.
	Tokenize(text string) ([]int, error)
	// Tokens are the texts of the special tokens that begin and end a text; "" where it has none.
	Tokens() (bos, eos string)
}

// Encoded is an encoder's answer.
type Encoded struct {
	Text string
	IDs  []int // the tokens; nil: not told
	// Refuse is why there is no prompt, in the encoder's words, and At where its code says so, such
	// as validator.py:78; "" where there is one.
	Refuse, At string
	// Beyond is why the encoder says nothing of the request, such as one with a picture.
	Beyond string
}
