"""Tokenises prompts in pieces with tokenisers made for the test and checks that no special token is
forged.

Reads JSON lines: {"family", "special", "plain"} begins a family, whose added tokens those are,
special or not, and each line {"text", "pieces": [[text, special], ...], "want": [...], "honest"}
after it is a prompt; each line {"was", "is"} is a rendering, and one that begins with its tokens.
The tokeniser is a byte-level BPE that is trained on a little text. The added tokens of a prompt
must be those of "want", and an honest prompt must have the tokens of the whole.
Prints a line with the counts; faults are at its end.
"""

import json
import sys

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

TEXT = [
    "The quick brown fox jumps over the lazy dog. What is the weather in Zürich, and will it rain tomorrow?",
    "def f(x):\n    return x <= 3 and x >= 1  # <html> </html> [a] | b <|im_",
    "one two three four five six seven",
]


def make(special, plain):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(
        TEXT * 3,
        trainers.BpeTrainer(
            vocab_size=600,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    t.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in special])
    t.add_tokens([AddedToken(s, special=False, normalized=False) for s in plain])
    return t


def main():
    families = prompts = honest = seams = 0
    for line in sys.stdin:
        job = json.loads(line)
        if "family" in job:
            families += 1
            name = job["family"]
            t = make(job["special"], job["plain"])
            added = {t.token_to_id(s): s for s in job["special"] + job["plain"]}
            continue
        if "was" in job:
            t.encode_special_tokens = False
            was, whole = (t.encode(job[k], add_special_tokens=False).ids for k in ("was", "is"))
            if whole[: len(was)] != was:
                sys.exit(f"{name}: {job['is']!r} does not begin with the tokens of {job['was']!r}")
            seams += 1
            continue
        ids = []
        for text, special in job["pieces"]:
            t.encode_special_tokens = not special
            ids += t.encode(text, add_special_tokens=False).ids
        got = [added[i] for i in ids if i in added]
        if got != job["want"]:
            sys.exit(f"{name}: added tokens {got}, want {job['want']} in {job['pieces']}")
        prompts += 1
        if job["honest"]:
            t.encode_special_tokens = False
            whole = t.encode(job["text"], add_special_tokens=False).ids
            if whole != ids:
                sys.exit(f"{name}: the tokens of {job['text']!r} change")
            honest += 1
    print(f"{families} families, {prompts} prompts, {honest} of them honest, {seams} seams")


main()
