# Builds the command and the library that assay_chat takes, and sets an engine up: source it in the
# checkout's root, with the engine's name.
#
#   ASSAY, ASSAY_LIBRARY, PYTHONPATH   what the package needs
#   out, env                           a folder for what is built, and the engine's environment
go=${GO:-go}
ci/engines/setup.sh "$1"
out=$PWD/out/$1
mkdir -p "$out"
"$go" build -trimpath -o "$out/assay" ./cmd/assay
CGO_ENABLED=1 "$go" build -tags libassay -trimpath -buildmode c-shared -ldflags "-s -w" \
  -o "$out/libassay.so" ./cmd/libassay
export ASSAY=$out/assay ASSAY_LIBRARY=$out/libassay.so PYTHONPATH=$PWD/ci/package/python
env=$(readlink -f ".deps/engines/$1")
