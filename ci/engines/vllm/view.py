"""vLLM's own way from a request to a prompt, with torch and the model stood in for.

view.py [VERSION]: without a version the release that the adapter drives. From 0.33.0 it is
OnlineRenderer.render_chat, in 0.12.0 OpenAIServingChat.create_chat_completion. A model is taken to
read images where vLLM detects that its template takes content in parts, else to read text alone.
"""

import asyncio
import logging
import os
import sys
import types

_here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(_here))
sys.path.insert(0, _here)
os.environ.setdefault("VLLM_LOGGING_LEVEL", "CRITICAL")
os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import stub  # noqa: E402

_version = sys.argv[1] if len(sys.argv) > 1 else None
_root = os.environ["ASSAY_VLLM"]
if _version:
    _root = os.path.join(sys.prefix, "versions", _version)
sys.path.insert(0, _root)
stub.install(
    "torch", "torchvision", "torchaudio", "triton", "gguf", "blake3", "llguidance",
    "lmformatenforcer", "diskcache",
)  # fmt: skip
import torch  # noqa: E402

torch.iinfo = lambda _: types.SimpleNamespace(min=-(1 << 63), max=(1 << 63) - 1)
_package = types.ModuleType("vllm")  # its __init__ patches torch
_package.__path__ = [os.path.join(_root, "vllm")]
with open(os.path.join(_root, "VERSION"), encoding="utf-8") as f:
    _package.__version__ = f.read().strip()


def _class(name):
    """Stands in for the classes that the package offers, which no request needs."""
    if not name[0].isupper():
        raise AttributeError(name)
    return stub.make(name)


_package.__getattr__ = _class
sys.modules["vllm"] = _package

from transformers.utils import chat_template_utils  # noqa: E402

from assay_view import serve, set_clock, tokenizer  # noqa: E402

set_clock(chat_template_utils)
logging.disable(logging.CRITICAL)


def model(images):
    """Stands in for the configuration of a model."""
    return types.SimpleNamespace(
        model="m", served_model_name="m", tokenizer="m", tokenizer_revision=None, revision=None,
        code_revision=None, trust_remote_code=False, enable_prompt_embeds=False,
        is_multimodal_model=images, max_model_len=1 << 30, allowed_local_media_path="",
        allowed_media_domains=None, hf_config=types.SimpleNamespace(model_type="m"),
        multimodal_config=types.SimpleNamespace(
            media_io_kwargs=None, interleave_mm_strings=False, enable_mm_embeds=False,
        ) if images else None,
    )  # fmt: skip


class Images:
    """Stands in for the class and the processor of a model that reads images."""

    get_placeholder_str = staticmethod(lambda modality, i: None)
    validate_num_items = staticmethod(lambda modality, n: None)
    info = types.SimpleNamespace(validate_num_items=validate_num_items)


def stand_in(tracker, *connectors):
    """Gives the tracker of a request's media a model, and the connectors nothing to fetch."""
    refuse = tracker.mm_processor.func
    tracker.mm_processor = property(
        lambda t: Images if t.model_config.is_multimodal_model else refuse(t)
    )
    tracker.model_cls = Images
    for connector in connectors:
        connector.fetch_image = lambda *a, **k: "image"

        async def fetch(*a, **k):
            return "image"

        connector.fetch_image_async = fetch


class Refused(Exception):
    """A request that the server answers with an error."""


def refuse(*args, **_):
    raise Refused(str(args[-1])) from sys.exc_info()[1]


def view_of_renderer():
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
    from vllm.multimodal.media import MediaConnector
    from vllm.renderers import hf
    from vllm.renderers.chat_utils import item_tracker
    from vllm.renderers.online_renderer import OnlineRenderer

    stand_in(item_tracker.BaseMultiModalItemTracker, MediaConnector)

    class Renderer(hf.HfRenderer):
        def __init__(self, config, tok):
            self.model_config, self.tokenizer, self.use_unified_vision_chunk = config, tok, False

        async def render_chat_async(self, conversations, params, *_, **__):
            conversation, prompt = self.render_messages(conversations[0], params)
            return [conversation], [prompt]

    class Online(OnlineRenderer):
        create_error_response = refuse

    def view(r):
        config = model(hf._detect_content_format(r["template"], default="string") == "openai")
        online = Online(
            config, Renderer(config, tokenizer(r)), request_logger=None,
            chat_template=r["template"], chat_template_content_format="auto",
            enable_auto_tools=True,
        )  # fmt: skip
        request = ChatCompletionRequest(**{"model": "m", **r["request"]})
        _, prompts = asyncio.run(online.render_chat(request))
        return prompts[0]["prompt"]

    return view


def view_of_serving():
    from vllm.entrypoints import chat_utils
    from vllm.entrypoints.openai.protocol import ChatCompletionRequest
    from vllm.entrypoints.openai.serving_chat import OpenAIServingChat
    from vllm.multimodal.utils import MediaConnector

    stand_in(chat_utils.BaseMultiModalItemTracker, MediaConnector)

    class Rendered(BaseException):
        """Carries the prompt past the handlers of errors."""

    class Serving(OpenAIServingChat):
        create_error_response = refuse

        def __init__(self, config, tok, template):
            self.model_config, self.chat_template = config, template
            self.chat_template_content_format = "auto"
            self.use_harmony = self.trust_request_chat_template = False
            self.exclude_tools_when_tool_choice_none = False
            self.enable_auto_tools = self.tool_parser = lambda *_: types.SimpleNamespace(
                adjust_request=lambda request: request
            )
            self.models = types.SimpleNamespace(model_name=lambda _: "m")

            async def get_tokenizer():
                return tok

            self.engine_client = types.SimpleNamespace(errored=False, get_tokenizer=get_tokenizer)

        async def _check_model(self, request):
            return None

        def _maybe_get_adapters(self, *_, **__):
            return None

        async def _tokenize_prompt_input_async(self, request, tok, prompt, **_):
            raise Rendered(prompt)

    def view(r):
        found = chat_utils._detect_content_format(r["template"], default="string")
        config = model(found == "openai")
        request = ChatCompletionRequest(**{"model": "m", **r["request"]})
        try:
            serving = Serving(config, tokenizer(r), r["template"])
            asyncio.run(serving.create_chat_completion(request))
        except Rendered as e:
            return e.args[0]

    return view


serve(view_of_serving() if _version else view_of_renderer())
