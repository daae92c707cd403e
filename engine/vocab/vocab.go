// Package vocab knows the added tokens of a tokeniser: the texts that it reads as one token
// wherever they stand, and before it looks at anything else. It encodes nothing; encoding is the
// work of the servers' libraries.
//
// # Terminology
//
// An added token has an id and a text. One that is special is read only where the caller of the
// tokeniser wants special tokens read (Hugging Face's split_special_tokens, llama.cpp's
// parse_special); any other one is read in every text. A piece is a part of a prompt that is given
// to the tokeniser in one call.
//
// # Model
//
// A tokeniser cuts a text at its added tokens first, and then tokenises each stretch between two of
// them alone. So a text may be given to it in pieces without changing a token wherever the pieces
// meet at an added token. [Vocabulary.Pieces] cuts there and nowhere else, and only where it must:
// around a stretch that spells an added token with bytes that are not the template's own.
//
// # Specifications followed
//
// Of tokenizer.json, the fields added_tokens and post_processor as the tokenizers library 0.23
// writes them; of tokenizer_config.json, added_tokens_decoder, bos_token, eos_token, add_bos_token
// and add_eos_token as transformers 5.23 reads them; of generation_config.json, eos_token_id.
// Package tokenizer reads a GGUF's vocabulary.
//
// # Stability
//
// This package may change with every release; package engine, which has [Vocabulary] and [Piece],
// lists the stable ones.
package vocab

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goassay/assay/engine/format"
	"github.com/goassay/assay/engine/ordered"
)

// Token is an added token.
type Token struct {
	ID      int
	Text    string
	Special bool // it is read only where special tokens are; any other one is read in every text
	// LStrip and RStrip report that the token takes the white space before or after it with it.
	LStrip, RStrip bool
}

// Config holds the statements of a model's files about its special tokens, as far as they make any.
type Config struct {
	BOS, EOS string // their texts; "": not said
	// AddsBOS and AddsEOS report whether the tokeniser writes the token around a text of its own
	// accord; nil: not said.
	AddsBOS, AddsEOS *bool
	// Stops are the ids that end a generation, by generation_config.json or the model file; nil:
	// not said.
	Stops []int
}

// Vocabulary is the added tokens of a tokeniser. It is immutable and safe for concurrent use.
type Vocabulary struct {
	// Config is what the tokeniser's files say of the special tokens.
	Config
	tokens []Token        // by id
	byText map[string]int // index into tokens
	// lengths has, for each first byte, the lengths of the texts that begin with it, the longest
	// first.
	lengths [256][]int
	first   int      // the least id of a marker
	markers []uint64 // a bit for each id from there on that is one
}

// New returns a vocabulary of added tokens. Of several with one text the last counts; those without
// a text are left out.
func New(tokens []Token, c Config) *Vocabulary {
	v := &Vocabulary{Config: c, byText: map[string]int{}}
	for _, t := range tokens {
		if t.Text == "" {
			continue
		}
		if i, ok := v.byText[t.Text]; ok {
			v.tokens[i] = t
			continue
		}
		v.byText[t.Text] = len(v.tokens)
		v.tokens = append(v.tokens, t)
	}
	slices.SortStableFunc(v.tokens, func(a, b Token) int { return cmp.Compare(a.ID, b.ID) })
	for i, t := range v.tokens {
		v.byText[t.Text] = i
		if l := &v.lengths[t.Text[0]]; !slices.Contains(*l, len(t.Text)) {
			*l = append(*l, len(t.Text))
		}
	}
	for i := range v.lengths {
		slices.SortFunc(v.lengths[i], func(a, b int) int { return b - a })
	}
	for _, t := range v.tokens {
		if !t.marker() {
			continue
		}
		if v.markers == nil {
			v.first = t.ID
		}
		k := t.ID - v.first
		if k>>6 >= maxRange {
			break
		}
		for k>>6 >= len(v.markers) {
			v.markers = append(v.markers, 0)
		}
		v.markers[k>>6] |= 1 << (k & 63)
	}
	return v
}

// Merge returns a vocabulary with the added tokens of two. Those of the second count where both
// have an id or a text, and so do its statements about special tokens.
func Merge(first, second *Vocabulary) *Vocabulary {
	tokens := slices.DeleteFunc(slices.Clone(first.tokens), func(t Token) bool {
		_, known := second.ByID(t.ID)
		return known
	})
	a, b := first.Config, second.Config
	c := Config{BOS: cmp.Or(b.BOS, a.BOS), EOS: cmp.Or(b.EOS, a.EOS),
		AddsBOS: cmp.Or(b.AddsBOS, a.AddsBOS), AddsEOS: cmp.Or(b.AddsEOS, a.AddsEOS),
		Stops: b.Stops}
	if c.Stops == nil {
		c.Stops = a.Stops
	}
	return New(append(tokens, second.tokens...), c)
}

// maxRange bounds how far the ids of markers may lie apart, in words of 64 ids: vocabularies have
// less than a million tokens.
const maxRange = 1 << 18

// marker reports whether the text of a token stands for the token alone. A special token's does.
// Any other added token is one only where it looks like one, between brackets: white space and
// words are among them too, which text spells as well.
func (t Token) marker() bool {
	first, n := utf8.DecodeRuneInString(t.Text)
	last, _ := utf8.DecodeLastRuneInString(t.Text)
	return t.Special ||
		n < len(t.Text) && strings.ContainsRune(format.OpenBrackets, first) &&
			strings.ContainsRune(format.ShutBrackets, last)
}

// Marker reports whether an id is that of a token whose text is no text: a special token, or one
// between brackets.
func (v *Vocabulary) Marker(id int) bool {
	k := uint(id - v.first)
	return k>>6 < uint(len(v.markers)) && v.markers[k>>6]&(1<<(k&63)) != 0
}

// Mark returns a literal with a mark before each marker in it. One that is marked is left.
func (v *Vocabulary) Mark(literal, mark string) string {
	var b strings.Builder
	from := 0
	for _, m := range v.Scan(literal) {
		if m.marker() && !strings.HasSuffix(literal[:m.Off], mark) {
			b.WriteString(literal[from:m.Off])
			b.WriteString(mark)
			from = m.Off
		}
	}
	b.WriteString(literal[from:])
	return b.String()
}

// Tokens returns the added tokens in the order of their ids. The caller must not change them.
func (v *Vocabulary) Tokens() []Token { return v.tokens }

// Find returns the added token with a text.
func (v *Vocabulary) Find(text string) (Token, bool) {
	i, ok := v.byText[text]
	if !ok {
		return Token{}, false
	}
	return v.tokens[i], true
}

// ByID returns the added token with an id.
func (v *Vocabulary) ByID(id int) (Token, bool) {
	i, ok := slices.BinarySearchFunc(
		v.tokens,
		id,
		func(t Token, id int) int { return cmp.Compare(t.ID, id) },
	)
	if !ok {
		return Token{}, false
	}
	return v.tokens[i], true
}

// at returns the longest added token that begins at a place of a text and ends at most at a limit.
func (v *Vocabulary) at(text string, i, limit int) (Token, bool) {
	for _, n := range v.lengths[text[i]] {
		if i+n <= limit {
			if k, ok := v.byText[text[i:i+n]]; ok {
				return v.tokens[k], true
			}
		}
	}
	return Token{}, false
}

// Match is an added token in a text.
type Match struct {
	Token
	Off int // where it begins
}

// End is where the token ends.
func (m Match) End() int { return m.Off + len(m.Text) }

// Scan returns the added tokens of a text as a tokeniser finds them: the first one, of several that
// begin at one place the longest, and on after it.
func (v *Vocabulary) Scan(text string) (found []Match) {
	for i := 0; i < len(text); {
		t, ok := v.at(text, i, len(text))
		if !ok {
			i++
			continue
		}
		found = append(found, Match{t, i})
		i += len(t.Text)
	}
	return found
}

// Span is a stretch of a text that ends at a place, and whether it is the template's own.
type Span struct {
	End int
	Own bool
}

// Piece is a part of a prompt that a tokeniser takes in one call.
type Piece struct {
	Text string // the bytes of the prompt that it has
	// Special reports whether the tokeniser is to read special tokens in it. Where it is not set,
	// the piece spells some, and they are no tokens.
	Special bool
}

// Pieces cuts a text so that no token in it comes from bytes that are not the template's own. The
// spans cover the text. Where nothing but the template's own bytes spells an added token the text
// is one piece, so that its tokens are those of the whole. Else the tokens are those that a
// tokeniser would give if it could be told which occurrences of a marker count.
//
// An added token that is not special counts only where it looks like a marker and the template
// writes it. It is read in every piece, and therefore cut in two after its first character.
func (v *Vocabulary) Pieces(text string, spans []Span, writes func(text string) bool) []Piece {
	if !v.forges(text, spans, writes) {
		return []Piece{{Text: text, Special: true}}
	}
	var real, forged []Match
	v.judge(text, spans, writes, func(m Match, own bool) bool {
		if own {
			real = append(real, m)
		} else {
			forged = append(forged, m)
		}
		return true
	})
	var pieces []Piece
	from := 0 // where the piece at hand begins
	stretch := func(off, end int) {
		i, _ := slices.BinarySearchFunc(
			forged,
			off,
			func(m Match, off int) int { return cmp.Compare(m.End(), off+1) },
		)
		if i == len(forged) || forged[i].Off >= end {
			return
		}
		if from < off {
			pieces = append(pieces, Piece{Text: text[from:off], Special: true})
		}
		pieces = v.plain(pieces, text[off:end], writes)
		from = end
	}
	at := 0
	for _, m := range real {
		end := m.Off
		if m.LStrip {
			end = max(at, len(strings.TrimRightFunc(text[:end], unicode.IsSpace)))
		}
		stretch(at, end)
		at = m.End()
		_, begins := slices.BinarySearchFunc(
			forged,
			m.Off,
			func(f Match, off int) int { return cmp.Compare(f.Off, off) },
		)
		if m.RStrip && !begins { // else the white space would make another token of it
			at = len(text) - len(strings.TrimLeftFunc(text[at:], unicode.IsSpace))
		}
	}
	stretch(at, len(text))
	if from < len(text) {
		pieces = append(pieces, Piece{Text: text[from:], Special: true})
	}
	return pieces
}

// forges reports whether a text spells an added token that the template has not written.
func (v *Vocabulary) forges(text string, spans []Span, writes func(string) bool) (found bool) {
	v.judge(text, spans, writes, func(_ Match, own bool) bool {
		found = !own
		return own
	})
	return found
}

// judge calls yield with the added tokens that the template has written, as its own, and with the
// other texts that spell one, in order, for as long as yield wants more.
func (v *Vocabulary) judge(text string, spans []Span, writes func(string) bool,
	yield func(m Match, own bool) bool) {
	var own func(i int) int // the end of the template's own text around i; i where there is none
	k := 0
	own = func(i int) int {
		for spans[k].End <= i {
			k++
		}
		end := i
		for j := k; j < len(spans) && spans[j].Own; j++ {
			end = spans[j].End
		}
		return end
	}
	for i := 0; i < len(text); {
		longest, ok := v.at(text, i, len(text))
		if !ok {
			i++
			continue
		}
		t, isOwn := v.at(text, i, own(i))
		if len(t.Text) != len(longest.Text) && longest.counts(writes) &&
			!yield(Match{longest, i}, false) {
			return
		}
		if !isOwn {
			if i++; !longest.counts(writes) { // the tokeniser reads it, and goes on after it
				i += len(longest.Text) - 1
			}
			continue
		}
		if !yield(Match{t, i}, true) {
			return
		}
		i += len(t.Text)
	}
}

// plain appends a stretch as pieces in which no special token is read, cut inside the added tokens
// that are read all the same.
func (v *Vocabulary) plain(pieces []Piece, text string, writes func(string) bool) []Piece {
	from := 0
	for i := 0; i < len(text); {
		_, size := utf8.DecodeRuneInString(text[i:])
		if v.always(text[i:], writes) {
			pieces = append(pieces, Piece{Text: text[from : i+size]})
			from = i + size
		}
		i += size
	}
	if from < len(text) {
		pieces = append(pieces, Piece{Text: text[from:]})
	}
	return pieces
}

// always reports whether a text begins with an added token that is read in every text.
func (v *Vocabulary) always(text string, writes func(string) bool) bool {
	for _, n := range v.lengths[text[0]] {
		if n <= len(text) {
			if k, ok := v.byText[text[:n]]; ok && !v.tokens[k].Special &&
				v.tokens[k].counts(writes) {
				return true
			}
		}
	}
	return false
}

// counts reports whether a token that the request spells is a forgery.
func (t Token) counts(writes func(string) bool) bool {
	return t.Special || t.marker() && writes(t.Text)
}

// Files are the texts of a model's files; "" where there is none.
type Files struct {
	Tokenizer  string // the text of tokenizer.json
	Config     string // the text of tokenizer_config.json; "": none
	Generation string // the text of generation_config.json; "": none
}

// token reads an added token.
func token(v ordered.Value) Token {
	return Token{
		Text: v.At("content").Text(), Special: v.At("special").Bool(),
		LStrip: v.At("lstrip").Bool(), RStrip: v.At("rstrip").Bool(),
	}
}

// text reads a token's text, which files give as text or as an object with its content.
func text(v ordered.Value) string {
	if v.Kind() == ordered.Object {
		v = v.At("content")
	}
	return v.Text()
}

// id reads the id of a token.
func id(v ordered.Value) (int, bool) {
	n, err := strconv.Atoi(v.Text())
	return n, err == nil && v.Kind() == ordered.Number && n >= 0
}

// flag reads a boolean; nil: there is none.
func flag(v ordered.Value) *bool {
	if v.Kind() != ordered.Bool {
		return nil
	}
	b := v.Bool()
	return &b
}

// Read reads a vocabulary from a model's files. It needs one of tokenizer.json and
// tokenizer_config.json; where both name a token, tokenizer.json has it.
func Read(f Files) (*Vocabulary, error) {
	if f.Tokenizer == "" && f.Config == "" {
		return nil, fmt.Errorf(
			"no tokenizer.json and no tokenizer_config.json: nothing names the added tokens")
	}
	var tokens []Token
	var c Config
	if f.Config != "" {
		config, err := object("tokenizer_config.json", f.Config)
		if err != nil {
			return nil, err
		}
		for _, m := range config.At("added_tokens_decoder").Members() {
			t := token(m.Value)
			if t.ID, err = strconv.Atoi(m.Key); err != nil || t.ID < 0 {
				return nil, fmt.Errorf(
					"tokenizer_config.json: added_tokens_decoder: %q is no token id", m.Key)
			}
			tokens = append(tokens, t)
		}
		slices.SortStableFunc(tokens, func(a, b Token) int { return cmp.Compare(a.ID, b.ID) })
		c.BOS, c.EOS = text(config.At("bos_token")), text(config.At("eos_token"))
		c.AddsBOS, c.AddsEOS = flag(config.At("add_bos_token")), flag(config.At("add_eos_token"))
	}
	if f.Tokenizer != "" {
		tokenizer, err := object("tokenizer.json", f.Tokenizer)
		if err != nil {
			return nil, err
		}
		for i, v := range tokenizer.At("added_tokens").Items() {
			t, ok := token(v), false
			if t.ID, ok = id(v.At("id")); !ok {
				return nil, fmt.Errorf("tokenizer.json: added_tokens[%d] has no id", i)
			}
			tokens = append(tokens, t)
		}
		c.around(tokenizer.At("post_processor"))
	}
	if f.Generation != "" {
		generation, err := object("generation_config.json", f.Generation)
		if err != nil {
			return nil, err
		}
		stops := generation.At("eos_token_id")
		list := stops.Items()
		if stops.Kind() == ordered.Number {
			list = []ordered.Value{stops}
		}
		for _, v := range list {
			n, ok := id(v)
			if !ok {
				return nil, fmt.Errorf("generation_config.json: eos_token_id: %s is no token id", v)
			}
			c.Stops = append(c.Stops, n)
		}
	}
	return New(tokens, c), nil
}

// object reads a file that is an object.
func object(file, text string) (ordered.Value, error) {
	v, err := ordered.ParseString(text)
	if err != nil {
		return v, fmt.Errorf("%s: %w", file, err)
	}
	if v.Kind() != ordered.Object {
		return v, fmt.Errorf("%s: expected an object", file)
	}
	return v, nil
}

// around notes which tokens a post-processor writes around a text: it decides, whatever
// add_bos_token is.
func (c *Config) around(processor ordered.Value) {
	for _, p := range processor.At("processors").Items() {
		c.around(p)
	}
	if processor.At("type").Text() != "TemplateProcessing" {
		return
	}
	var bos, eos, after bool
	for _, item := range processor.At("single").Items() {
		_, sequence := item.Get("Sequence")
		_, special := item.Get("SpecialToken")
		switch {
		case sequence:
			after = true
		case special && after:
			eos = true
		case special:
			bos = true
		}
	}
	c.AddsBOS, c.AddsEOS = &bos, &eos
}
