#!/usr/bin/env bash
# Records the requests of clients: ci/clients/record.sh [OUT]. Fetches the released packages from
# PyPI and npm into .deps/clients, lets each talk to a server on loopback (server.py), and writes
# their requests to harness/conversation/clients, or to OUT, with their authors' texts in our words (distil.py).
set -euo pipefail
cd "$(dirname "$0")"
root=$(realpath "$PWD/../..")
out=$(realpath -m "${1:-$root/harness/conversation/clients}")
deps=$root/.deps/clients
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir -p "$deps" "$work/home/w" "$work/logs"

if [ ! -d "$deps/python" ]; then
  python3 -m venv "$deps/python"
  "$deps/python/bin/pip" install -q openai-agents langchain-openai 'pydantic-ai-slim[openai]' mcp
fi
if [ ! -d "$deps/node/node_modules" ]; then
  mkdir -p "$deps/node"
  (cd "$deps/node" && npm init -y >/dev/null &&
    npm install --no-audit --no-fund @openai/codex opencode-ai @anthropic-ai/claude-code cline)
fi
bin=$deps/node/node_modules/.bin
note=$work/home/w/note.txt
echo 'The note says blue.' >"$note"

port=8700
# serve NAME VERSION: starts a server that notes the requests of a client, at $url.
serve() {
  port=$((port + 1))
  echo "$2" >"$work/logs/$1.version"
  python3 "$root/ci/clients/server.py" $port "$work/logs/$1.jsonl" "$note" &
  url=http://127.0.0.1:$port
  for _ in $(seq 50); do curl -fs "$url" >/dev/null && return; sleep 0.1; done
}
python_version() { "$deps/python/bin/pip" show "$1" | sed -n 's/^Version: //p'; }
node_version() { node -p "require('$deps/node/node_modules/$1/package.json').version"; }

for client in openai-agents:send_agents.py:openai-agents \
  langchain:send_langchain.py:langchain-openai \
  pydantic-ai:send_pydantic.py:pydantic-ai-slim mcp:send_mcp.py:mcp; do
  IFS=: read -r name script package <<<"$client"
  serve "$name" "$(python_version "$package")"
  timeout 120 "$deps/python/bin/python" "$script" "$url"
done

export HOME=$work/home
cd "$HOME/w"
git init -q .

serve codex "$(node_version @openai/codex)"
mkdir -p "$HOME/.codex"
cat >"$HOME/.codex/config.toml" <<TOML
model = "m"
model_provider = "loopback"
[model_providers.loopback]
name = "loopback"
base_url = "$url/v1"
wire_api = "responses"
env_key = "LOOPBACK_KEY"
TOML
LOOPBACK_KEY=none timeout 120 "$bin/codex" exec --skip-git-repo-check 'Read note.txt' </dev/null

serve opencode "$(node_version opencode-ai)"
cat >opencode.json <<JSON
{"provider": {"loopback": {"npm": "@ai-sdk/openai-compatible", "name": "loopback",
 "options": {"baseURL": "$url/v1", "apiKey": "none"},
 "models": {"m": {"name": "m"}}}}, "model": "loopback/m", "autoupdate": false, "share": "disabled"}
JSON
timeout 120 "$bin/opencode" run -m loopback/m 'Read note.txt' </dev/null

serve claude-code "$(node_version @anthropic-ai/claude-code)"
ANTHROPIC_BASE_URL=$url ANTHROPIC_API_KEY=none CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 IS_SANDBOX=1 \
  timeout 120 "$bin/claude" -p 'Read note.txt' --model m </dev/null

serve cline "$(node_version cline)"
"$bin/cline" auth openai-compatible -k none -m m -b "$url/v1" </dev/null
timeout 120 "$bin/cline" 'Read note.txt' </dev/null || true # it fails once it has its answer

cd "$root/ci/clients"
python3 distil.py "$work/logs" "$note" "$out"
