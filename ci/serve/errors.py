"""The error that each client raises for each fault of a server, as docs/servers.md has it.

Usage: errors.py URL, where URL is a server before an upstream that fails with the status that a
prompt asks for.
"""

import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # nothing is fetched

import anthropic
import litellm
import openai

litellm.suppress_debug_info = True

URL = sys.argv[1]
# the fault, and the classes of openai, anthropic and litellm
FAULTS = [
    ("no messages", "BadRequestError", "BadRequestError", "BadRequestError"),
    ("fault-400", "BadRequestError", "BadRequestError", "ContextWindowExceededError"),
    ("no key", "AuthenticationError", "AuthenticationError", "AuthenticationError"),
    ("no model", "NotFoundError", "NotFoundError", "NotFoundError"),
    ("fault-500", "InternalServerError", "InternalServerError", "BadGatewayError"),
    ("fault-503", "InternalServerError", "OverloadedError", "ServiceUnavailableError"),
]


def request(fault):
    messages = [] if fault == "no messages" else [{"role": "user", "content": fault}]
    return {"model": "other" if fault == "no model" else "scripted", "messages": messages}


def raised(ask):
    try:
        ask()
    except Exception as error:
        return error
    return None


wrong = []
for fault, *classes in FAULTS:
    key = "sk-other" if fault == "no key" else "sk-test"
    body = request(fault)
    completions = openai.OpenAI(base_url=URL + "/v1", api_key=key, max_retries=0)
    messages = anthropic.Anthropic(base_url=URL, api_key=key, max_retries=0)
    errors = [
        raised(lambda: completions.chat.completions.create(**body)),
        raised(lambda: messages.messages.create(max_tokens=9, **body)),
        raised(lambda: litellm.completion(api_base=URL + "/v1", api_key=key, num_retries=0,
                                          custom_llm_provider="openai", **body)),
    ]
    for want, client, error in zip(classes, ("openai", "anthropic", "litellm"), errors):
        if type(error).__name__ != want:
            wrong.append(f"{client}: {fault}: {type(error).__name__}, want {want}: {error}")
    if fault == "fault-400" and errors[0].code != "context_length_exceeded":
        wrong.append(f"openai: the code is {errors[0].code}")
sys.exit("\n".join(wrong) or print(f"{3 * len(FAULTS)} errors have their classes"))
