"""SGLang's own way from a request to a prompt: _validate_request and _process_messages of its chat
handler, with torch and the model stood in for.

A model is taken to read images where SGLang detects that its template takes content in parts.
"""

import os
import sys
import types

_here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(_here))
sys.path.insert(0, os.path.join(sys.prefix, "server"))
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import stub  # noqa: E402

stub.install("torch", "torchvision", "torchaudio", "triton", "sgl_kernel", "dill", "IPython")
import torch  # noqa: E402

stub.absent.add("torch.npu")
torch.version = types.SimpleNamespace(hip=None, cuda=None)
_package = types.ModuleType("sglang")  # its __init__ starts the runtime
_package.__path__ = [os.path.join(sys.prefix, "server", "sglang")]
_package.__version__ = "0.5.23"
# What runs a model; what comes before a prompt takes types and constants of it alone.
stub.install(
    "sglang.kernels", "sglang.srt.distributed", "sglang.srt.layers", "sglang.srt.lora",
    "sglang.srt.managers", "sglang.srt.mem_cache", "sglang.srt.model_executor",
    "sglang.srt.configs", "sglang.srt.speculative", "sglang.srt.disaggregation",
)  # fmt: skip
sys.modules["sglang"] = _package

from sglang.srt import runtime_context  # noqa: E402
from sglang.srt.entrypoints.openai import serving_chat  # noqa: E402
from sglang.srt.entrypoints.openai.protocol import ChatCompletionRequest  # noqa: E402
from sglang.srt.parser.template_manager import TemplateManager  # noqa: E402
from transformers.utils import chat_template_utils  # noqa: E402

from assay_view import serve, set_clock, tokenizer  # noqa: E402

set_clock(chat_template_utils)


class Unset:
    """The options of a server that is started without any."""

    def __getattr__(self, name):
        return None


runtime_context.get_context()._config_bags = {"serving": Unset(), "model": Unset()}


class Refused(Exception):
    """A request that the server answers with an error."""


def view(r):
    tok = tokenizer(r)
    config = types.SimpleNamespace(
        hf_config=types.SimpleNamespace(model_type="m", architectures=["M"]),
        get_default_sampling_params=dict,
    )
    manager = types.SimpleNamespace(
        tokenizer=tok, processor=None, model_config=config, model_path="m", served_model_name="m",
        config_value=lambda name: None, server_args=types.SimpleNamespace(),
    )  # fmt: skip
    templates = TemplateManager()
    templates.load_chat_template(manager, None, "m")
    config.is_multimodal = templates.jinja_template_content_format == "openai"
    serving = serving_chat.OpenAIServingChat(manager, templates)
    request = ChatCompletionRequest(**{"model": "m", **r["request"]})
    refusal = serving._validate_request(request)
    if refusal:
        raise Refused(refusal)
    result = serving._process_messages(request, config.is_multimodal)
    return tok.decode(result.prompt_ids, clean_up_tokenization_spaces=False)


serve(view)
