"""Reads the calls of a model that runs in transformers, as they stream.

python transformers_script.py MODEL [QUESTION]

The model's own chat template decides how calls are read, so there is nothing to configure for it.
"""

import json
import sys
from threading import Thread

from transformers import AutoModelForCausalLM, AutoTokenizer, TextIteratorStreamer

import assay_chat

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Weather of a place, now",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    },
}


def stream(model, tokenizer, parser, **settings):
    """Yield the deltas of an answer to the parser's prompt."""
    inputs = tokenizer(parser.prompt, return_tensors="pt", add_special_tokens=False)
    # Special tokens may be markers of the format, so they are kept.
    pieces = TextIteratorStreamer(tokenizer, skip_prompt=True, skip_special_tokens=False)
    Thread(target=model.generate, kwargs={**inputs, "streamer": pieces, **settings}).start()
    yield from parser.deltas(pieces)


def main(name, question="What is the weather in Oslo?"):
    tokenizer = AutoTokenizer.from_pretrained(name)
    model = AutoModelForCausalLM.from_pretrained(name)
    template = assay_chat.Template.of_tokenizer(tokenizer)
    request = {"messages": [{"role": "user", "content": question}], "tools": [WEATHER]}
    for delta in stream(model, tokenizer, template.parser(request), max_new_tokens=200):
        print(json.dumps(delta, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
