"""Puts the faults of ci/engines/faults.jsonl to their engines, each by the engine's program "fault"
beside its adapter, which calls the package itself. Fails where an engine reads an output otherwise
than the matrix has it. Arguments: names of engines; without one, all.
"""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
SET_UP = ROOT.parent / ".deps" / "engines"


def command(engine):
    """Returns the command of an engine's program, and its environment."""
    home = (SET_UP / engine).resolve()
    environment = dict(os.environ, ASSAY_VLLM=str(home / "vllm"), VLLM_LOGGING_LEVEL="ERROR")
    compiled = {"llama.cpp": home / "fault", "ollama": home / "fault"}
    for name in ("dynamo", "smg"):
        compiled[name] = home / "target" / "release" / "examples" / "fault"
    if engine in compiled:
        return [compiled[engine]], environment
    python = [home / "bin" / "python", "-W", "ignore"]
    return python + [ROOT / "engines" / engine / "fault.py"], environment


def read(engine, request):
    """Returns the engine's reading; None where it fails, with the last line of its complaint."""
    run, environment = command(engine)
    if not os.path.exists(run[0]):
        return None, f"{engine} is not set up: make engines ENGINE={engine}"
    done = subprocess.run(
        run, input=json.dumps(request), capture_output=True, text=True, env=environment
    )
    if done.returncode < 0:
        return None, f"{run[0]} was killed by the signal {-done.returncode}"
    if done.returncode:
        return None, (done.stderr.strip() or str(done.returncode)).splitlines()[-1]
    message = json.loads(done.stdout.splitlines()[-1])
    return (None, message["error"]) if "error" in message else (message, "")


def parts(message):
    """Returns the parts of a message that are compared: arguments by value."""
    if message is None:
        return None
    calls = []
    for call in message["tool_calls"] or []:
        try:
            arguments = json.loads(call["arguments"])
        except ValueError:
            arguments = call["arguments"]
        calls.append((call["name"], arguments))
    return message["reasoning_content"], message["content"], calls


def main(engines):
    failed = ran = 0
    with open(ROOT / "engines" / "faults.jsonl", encoding="utf-8") as file:
        faults = [json.loads(line) for line in file]
    for fault in faults:
        name = fault["engine"].removesuffix(" with ours")
        if engines and name not in engines:
            continue
        message, complaint = read(name, fault["request"])
        missing = "is not set up" in complaint or "was killed by" in complaint
        same = not missing and parts(message) == parts(fault.get("got"))
        failed += not same
        named = [fault[key] for key in ("digest", "engine", "version", "case", "kind")]
        print(*named, "reproduced" if same else "NOT REPRODUCED", sep="  ")
        if not same or complaint:
            print("   ", complaint or json.dumps(message, ensure_ascii=False))
        ran += 1
    print(f"{ran} faults, {failed} not reproduced")
    sys.exit(1 if failed else 0)


main(sys.argv[1:])
