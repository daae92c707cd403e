# Functions for the scripts that install parts of a release, which source it in the root of the
# checkout with a name in $run: a folder of work, and the judgement of an installed command.

die() { echo "$run: $*" >&2; exit 1; }
work=$(mktemp -d "${TMPDIR:-/tmp}/assay-$run.XXXXXX")
trap 'rm -rf "$work"' EXIT
folder=$work/templates
mkdir "$folder"
cp corpus/hermes/template.jinja "$folder/good.jinja"
sed "s/(message.content or '')/message.content/" "$folder/good.jinja" >"$folder/bad.jinja"
os=$(go env GOOS) arch=$(go env GOARCH)

path=/usr/bin:/bin
alone() { env -i HOME="$work" PATH="$path" "$@"; } # without Go, and with no setting of this shell
judges() { # HOW COMMAND...: the command is $version, accepts a good template and rejects a bad one
  local how=$1 status=0 from
  shift
  [ "$(alone "$@" version)" = "assay $version" ] || die "$how: expected version $version, found $(alone "$@" version)"
  from=$(date +%s%N)
  alone "$@" check "$folder/good.jinja" >"$work/out" 2>&1 || die "$how: a good template is not accepted: $(cat "$work/out")"
  took=$((($(date +%s%N) - from) / 1000000))
  alone "$@" check "$folder/bad.jinja" >"$work/out" 2>&1 || status=$?
  [ $status = 1 ] && grep -q A012 "$work/out" || die "$how: expected A012 for a bad template, found $(cat "$work/out")"
  echo "$run: $how: judged in $took ms"
}

# signed RELEASE KEY: the checksums of a release's files hold, and so does their signature.
signed() {
  (cd "$1" && sha256sum --quiet -c checksums.txt) || { echo "a checksum is wrong"; return 1; }
  base64 -d <"$1/checksums.txt.sig" >"$work/sig"
  openssl dgst -sha256 -verify "$2" -signature "$work/sig" "$1/checksums.txt" >/dev/null || { echo "the signature is wrong"; return 1; }
}

# image ARCHIVE: unpacks the root file system of an image as $work/root, each blob held to its digest.
image() {
  rm -rf "$work/image" "$work/root"
  mkdir "$work/image" "$work/root"
  tar -xf "$1" -C "$work/image"
  local blob
  for blob in "$work"/image/blobs/sha256/*; do
    [ "$(sha256sum <"$blob")" = "$(basename "$blob")  -" ] || { echo "$(basename "$blob") does not match its digest"; return 1; }
  done
  blob=$(python3 -c 'import json, sys
image = sys.argv[1]
blob = lambda d: json.load(open(f"{image}/blobs/sha256/" + d["digest"][7:]))
index = blob(json.load(open(f"{image}/index.json"))["manifests"][0])
for m in index["manifests"]:
    if m["platform"]["architecture"] == sys.argv[2]:
        print(blob(m)["layers"][0]["digest"][7:])' "$work/image" "$arch")
  tar -xzf "$work/image/blobs/sha256/$blob" -C "$work/root"
  cp "$folder"/*.jinja "$work/root/work"
}

# in_image HOW: the command judges in the image that was unpacked, as its user.
in_image() {
  local inside=(chroot --userspec=65532:65532)
  [ "$(id -u)" = 0 ] || inside=(unshare --map-root-user chroot)
  path=/usr/bin:/bin:/usr/sbin:/sbin folder=/work judges "$1" "${inside[@]}" "$work/root" /usr/bin/assay
}
