"""SGLang's chat handler, with torch and the model stood in for: the unpacked wheel beside the
environment, without its compiled modules."""

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

from assay_view import set_clock  # noqa: E402

set_clock(chat_template_utils)


class Options(types.SimpleNamespace):
    """The options of a server. Those that are not given are None."""

    def __getattr__(self, name):
        return None


def serving(tok, **options):
    """Returns the handler of a server with a tokeniser and options."""
    given = Options(**options)
    runtime_context.get_context()._config_bags = {"serving": given, "model": Options()}
    config = types.SimpleNamespace(
        hf_config=types.SimpleNamespace(model_type="m", architectures=["M"]),
        get_default_sampling_params=dict,
    )
    manager = types.SimpleNamespace(
        tokenizer=tok, processor=None, model_config=config, model_path="m", served_model_name="m",
        config_value=lambda name: getattr(given, name), server_args=types.SimpleNamespace(),
    )  # fmt: skip
    templates = TemplateManager()
    templates.load_chat_template(manager, None, "m")
    config.is_multimodal = templates.jinja_template_content_format == "openai"
    return serving_chat.OpenAIServingChat(manager, templates)
