"""Reads a fault's output by mlx-lm's own parser: python fault.py < REQUEST. There is no adapter.

The package imports mlx, which needs Apple's hardware; its parsers do not. As in its server, the
text between a call's markers goes to the parser, and to the end of the output where there is no
closer.
"""

import importlib
import importlib.util
import json
import sys
import types

package = types.ModuleType("mlx_lm")
package.__path__ = list(importlib.util.find_spec("mlx_lm").submodule_search_locations)
sys.modules["mlx_lm"] = package

given = json.load(sys.stdin)
parser = importlib.import_module("mlx_lm.tool_parsers." + given["parser"]["tool"])
tools = given["request"].get("tools") or None
message = {"reasoning_content": "", "content": "", "tool_calls": []}
rest = given["output"]
while parser.tool_call_start in rest:
    before, _, rest = rest.partition(parser.tool_call_start)
    message["content"] += before
    text, _, rest = rest.partition(parser.tool_call_end) if parser.tool_call_end else (rest, "", "")
    found = parser.parse_tool_call(text.strip(), tools)
    for call in found if isinstance(found, list) else [found]:
        arguments = json.dumps(call["arguments"])
        message["tool_calls"].append({"name": call["name"], "arguments": arguments})
message["content"] += rest
print(json.dumps(message))
