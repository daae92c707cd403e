"""llguidance judges turns by Lark."""

import judge
import llguidance

TOKENS = llguidance.LLTokenizer("byte")


def takes(text):
    grammar = llguidance.LLMatcher.grammar_from_lark(text)
    error = llguidance.LLMatcher.validate_grammar(grammar, TOKENS)
    if error:
        raise ValueError(error)
    first = llguidance.LLMatcher(TOKENS, grammar, log_level=0)

    def of(turn):
        matcher = first.deep_copy()
        taken = matcher.try_consume_tokens(list(turn))
        if "limit" in matcher.get_error() or "complex" in matcher.get_error().lower():
            raise ValueError(matcher.get_error())
        return taken == len(turn) and matcher.is_accepting()

    return of


judge.serve("llguidance", llguidance.__version__, {"lark": takes})
