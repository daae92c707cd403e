#!/usr/bin/env bash
# Builds the chat and libassay into a folder: examples/llama.cpp/build.sh FOLDER. pkg-config has to
# find llama.cpp; `ci/live/llama.sh examples/llama.cpp/build.sh FOLDER` builds that first. JSON is
# nlohmann/json, which llama.cpp's source has; NLOHMANN names another folder with it.
set -euo pipefail
mkdir -p "${1:?usage: examples/llama.cpp/build.sh FOLDER}"
out=$(realpath "$1")
cd "$(dirname "$0")/../.."
CGO_ENABLED=1 "${GO:-go}" build -tags libassay -trimpath -buildmode c-shared -o "$out/libassay.so" ./cmd/libassay
"${CXX:-c++}" -std=c++17 -O1 -Wall -Wextra -Werror examples/llama.cpp/chat.cpp -o "$out/chat" \
  -Icmd/libassay -isystem "${NLOHMANN:-.deps/llama.cpp/vendor}" $(pkg-config --cflags --libs llama) \
  -L"$out" -lassay -Wl,-rpath,"$out" -Wl,-rpath,"$(pkg-config --variable=libdir llama)"
