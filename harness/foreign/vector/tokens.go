package vector

import (
	"context"
	"fmt"
	"strconv"

	"github.com/goassay/assay/engine"
	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/ordered"
	"github.com/goassay/assay/harness/corpus/split"
	"github.com/goassay/assay/harness/corpus/tokens"
	"github.com/goassay/assay/harness/report"
)

// reader gives a parser an output, in one go and in every split.
type reader func(*engine.Parser, chat.FinishReason) (split.Answer, *split.Mismatch)

// inText reads an output as text.
func inText(output string) reader {
	return func(p *engine.Parser, reason chat.FinishReason) (split.Answer, *split.Mismatch) {
		return split.Check(p, output, reason)
	}
}

// byTokens reads an output by the ids of its tokens, where the vector has them and the tokeniser is
// at hand, with the template compiled for that tokeniser.
func (v *Verifier) byTokens(ctx context.Context, vec *Vector, name, output string,
	read func(*template, error, reader) error) error {
	repo := vec.Value.At("tokenizer", "repo").Text()
	tokenizer, ok := v.Tokenizers[repo]
	if _, has := vec.Value.Get("output_token_ids"); !has || !ok {
		return nil
	}
	list, err := spelled(vec.Value.At("output_token_ids"), output, tokenizer)
	if err == nil {
		o := engine.Options{Limits: v.Limits, Now: v.Now, Vocabulary: tokenizer.Vocabulary}
		t, failed := v.read(ctx, name, repo, o)
		err = read(t, failed, func(p *engine.Parser,
			reason chat.FinishReason) (split.Answer, *split.Mismatch) {
			return tokens.Check(p, list, reason)
		})
	}
	if err != nil {
		return fmt.Errorf("by the ids of tokens: %w", err)
	}
	return nil
}

// spelled returns the tokens of an output.
func spelled(list ordered.Value, output string, t tokens.Tokenizer) ([]engine.Token, error) {
	var ids []int
	for i, item := range list.Items() {
		id, err := strconv.Atoi(item.Text())
		if err != nil || item.Kind() != ordered.Number {
			return nil, fmt.Errorf("output_token_ids[%d] is %s; expected the id of a token", i,
				item)
		}
		ids = append(ids, id)
	}
	tokensOf, err := t.Tokens(ids)
	if err != nil {
		return nil, err
	}
	if text := tokens.Text(tokensOf); text != output {
		return nil, fmt.Errorf("the tokeniser spells another output, so it is not the one that "+
			"the vector names\n%s", report.Sides("output", output, "tokens", text))
	}
	return tokensOf, nil
}
