#!/usr/bin/env bash
# Judges templates and edits of them; --help has the usage.
#
# The repository may be a stranger's. Its names are shown as text that no terminal and no runner of
# jobs obeys; a file that is a link out of the tracked files is rejected unread; a report goes
# through no link.
set -euo pipefail

usage() {
  cat <<'END'
usage: ci/gate/gate.sh [--base COMMIT] [--only-changed] [--templates PATHSPEC] [--report DIR]
                  [-- ARGUMENT OF CHECK...]

Judges chat templates (`assay check`) and, against a base commit, the changes of an edit (`assay
diff`), in one report. Run it in the folder of the templates: *.jinja and *.gguf files, and model
folders, which an edit of any of their files changes.

  --base COMMIT         compare with this commit; what failed there does not fail
  --only-changed        judge only what differs from the base
  --templates PATHSPEC  judge the files that match, in place of those above
  --report DIR          leave check.sarif and check.xml (JUnit) in this folder

The first line and the last are the verdict, which is added to the file that GITHUB_OUTPUT names:

  gate: pass              verdict=pass     exit status 0
  gate: fail              verdict=fail     exit status 1
  gate: error             verdict=error    exit status 2: it could not run
  gate: nothing to judge  verdict=nothing  exit status 0

ASSAY is the command to run; by default it is built from this checkout.
END
}

work=$(mktemp -d "${TMPDIR:-/tmp}/assay-gate.XXXXXX")
verdict=error # of whatever ends this script early
finish() {
  exec >&3 2>&4
  local line="gate: $verdict" status=0
  case $verdict in nothing) line+=' to judge' ;; fail) status=1 ;; error) status=2 ;; esac
  [ -z "${GITHUB_OUTPUT:-}" ] || echo "verdict=$verdict" >>"$GITHUB_OUTPUT" || status=2
  echo "$line"
  if [ -s "$work/log" ]; then
    cat "$work/log"
    echo "$line"
  fi
  rm -rf "$work"
  exit $status
}
exec 3>&1 4>&2 >"$work/log" 2>&1
trap finish EXIT

show() { # NAME, so that it stays on its line and means nothing to who prints it
  local LC_ALL=C
  case $1 in *[!\ -~]* | *'##['*) printf '%q' "$1" ;; *) printf '%s' "$1" ;; esac
}
die() { echo "gate: $(show "$*")"; exit; }

base='' only_changed='' templates=() report=''
while [ $# -gt 0 ]; do
  case $1 in
    --base | --templates | --report)
      [ $# -gt 1 ] || die "$1 needs a value"
      [ -n "$2" ] || die "$1 needs a value, and got an empty text"
      ;;
  esac
  case $1 in
    --base) base=$2; shift 2 ;;
    --only-changed) only_changed=1; shift ;;
    --templates) templates=("$2"); shift 2 ;;
    --report) report=$2; shift 2 ;;
    --help)
      usage >&3
      trap - EXIT
      rm -rf "$work"
      exit
      ;;
    --) shift; break ;;
    *) die "unknown argument $1; --help lists them" ;;
  esac
done
[ -z "$only_changed" ] || [ -n "$base" ] || die "--only-changed needs --base"

# Of a model folder, beside model files: those that make a folder a model's, and others, of which a
# config.json does so where it names the model's type.
marks=(chat_template.jinja chat_template.json processor_config.json tokenizer_config.json)
others=(special_tokens_map.json preprocessor_config.json config.json)
additional=additional_chat_templates
kinds=(':(icase)*.jinja' ':(icase)*.gguf' "${marks[@]/#/:(glob)**/}")
if [ ${#templates[@]} = 0 ]; then
  templates=("${kinds[@]}" "${others[@]/#/:(glob)**/}")
else
  kinds=("${templates[@]}")
fi

# Names are patterns only where this script says so, and no setting makes git run a program or take
# a folder of the repository for a repository of its own.
unset GIT_LITERAL_PATHSPECS GIT_GLOB_PATHSPECS GIT_NOGLOB_PATHSPECS GIT_ICASE_PATHSPECS
export GIT_NO_REPLACE_OBJECTS=1 GIT_CONFIG_COUNT=${GIT_CONFIG_COUNT:-0}
for setting in core.fsmonitor=false core.hooksPath=/dev/null safe.bareRepository=explicit; do
  export "GIT_CONFIG_KEY_$GIT_CONFIG_COUNT=${setting%%=*}"
  export "GIT_CONFIG_VALUE_$GIT_CONFIG_COUNT=${setting#*=}"
  GIT_CONFIG_COUNT=$((GIT_CONFIG_COUNT + 1))
done

git rev-parse --is-inside-work-tree >"$work/found" 2>&1 ||
  die "$PWD is not in a git repository that can be used, where templates are looked for:" \
    "$(head -n 1 "$work/found")"
if [ -n "$base" ]; then
  case $base in ^*) die "the base commit $base is not in this repository" ;; esac
  if ! git rev-parse --verify --quiet --end-of-options "$base^{commit}" >/dev/null; then
    [ "$(git rev-parse --is-shallow-repository)" = false ] || die "the base commit $base is not in this clone, which is shallow." \
      "Clone with its history (actions/checkout: fetch-depth: 0), or fetch the commit: git fetch --no-tags --depth=1 origin $base"
    die "the base commit $base is not in this repository"
  fi
  since=$(git merge-base --end-of-options "$base" HEAD 2>/dev/null || echo "$base")
fi
if [ -n "$only_changed" ]; then # a file that was renamed is also gone from where it was
  git diff --name-only -z --relative --no-renames "$since" -- "${templates[@]}" >"$work/files" || die "git diff failed"
  git ls-files -z --others --exclude-standard -- "${templates[@]}" >>"$work/files" || die "git ls-files failed"
else
  git ls-files -z --cached --others --exclude-standard --deduplicate -- "${templates[@]}" >"$work/files" || die "git ls-files failed"
fi
top=$(git rev-parse --show-toplevel) || die "$PWD has no work tree, where templates are looked for"

folder=''
locate() { # FILE: sets the folder that is read with it
  case $1 in */*) folder=${1%/*} ;; *) folder=. ;; esac
  case $folder in
    "$additional") folder=. ;;
    */"$additional") folder=${folder%/*} ;;
  esac
}
linked() { # FOLDER: whether the way to it goes over a link
  local path=$1
  while [ ! -L "$path" ]; do
    case $path in */*) path=${path%/*} ;; *) return 1 ;; esac
  done
}
among() { # FILE NAME...: whether the file has one of the names
  local file=${1##*/} name
  shift
  for name; do [ "$file" != "$name" ] || return 0; done
  return 1
}
part() { # FILE: whether a model folder would be judged by it
  case $1 in *.[gG][gG][uU][fF] | "$additional"/*.jinja | */"$additional"/*.jinja) return 0 ;; esac
  among "$1" "${marks[@]}" "${others[@]}"
}
model() { # FOLDER: whether it is a model's
  local file
  for file in "${marks[@]}"; do [ ! -f "$1/$file" ] || return 0; done
  for file in "$1"/*.[gG][gG][uU][fF]; do [ ! -f "$file" ] || return 0; done
  [ -f "$1/config.json" ] && grep -q '"model_type"' "$1/config.json"
}
tracked() { # FILE: the target of a link is a file of the work tree
  local target
  target=$(readlink -f -- "$1" && echo .) || return 1
  target=${target%$'\n.'}
  case $target in "$top"/*) ;; *) return 1 ;; esac
  git -C "$top" ls-files --error-unmatch -- ":(literal)${target#"$top"/}" >"$work/found" 2>&1
}
files=() refused=''
declare -A wrong=() faulty=()
astray() { # LINK: whether it leads out of the files that git tracks
  [ -L "$1" ] || return 1
  [ "${1##*/}" = "$additional" ] || ! tracked "$1" || return 1
  echo "gate: fail: $(show "$1") is a link that leads to no file of the repository"
  faulty[$1]=1 refused=1
}
given() { # FILE: whether it came with the repository
  git ls-files --error-unmatch -- ":(literal)$1" >"$work/found" 2>&1
}
converted() { # FILE: whether git writes it otherwise than it keeps it, and others get it kept
  local path value attribute
  while IFS= read -r -d '' path && IFS= read -r -d '' attribute && IFS= read -r -d '' value; do
    case $value in unspecified | unset) continue ;; esac
    echo "gate: fail: $(show "$path") has another content in the repository, by the $attribute" \
      "of a .gitattributes"
    faulty[$1]=1 refused=1
    return 0
  done < <(git check-attr -z working-tree-encoding ident -- "$1")
  return 1
}
beside() { # whether a file of the folder is not to be read; cases and models are, with a template
  local file
  if [ -z "${wrong[$folder]:-}" ]; then
    wrong[$folder]=no
    for file in "$folder"/* "$folder"/.* "$folder/$additional"/*; do
      file=${file#./}
      if [ -L "$file" ]; then
        ! { given "$file" && astray "$file"; } || wrong[$folder]=yes
      elif [ -f "$file" ] && part "$file"; then
        ! converted "$file" || wrong[$folder]=yes
      fi
    done
  fi
  [ "${wrong[$folder]}" = yes ]
}
if [ -n "$base" ]; then
  git diff --name-only -z --relative --diff-filter=D --find-renames "$since" -- "${templates[@]}" >"$work/deleted" || die "git diff failed"
  while IFS= read -r -d '' file; do
    locate "$file"
    { part "$file" && ! linked "$folder" && model "$folder"; } || echo "gate: deleted, so not judged: $(show "$file")"
  done <"$work/deleted"
fi
while IFS= read -r -d '' file; do
  locate "$file"
  ! linked "$folder" || continue # git has nothing there any more
  there=''
  [ ! -e "$file" ] && [ ! -L "$file" ] || there=1
  if [ -z "$there" ] && [ "$(git ls-files -t -- ":(literal)$file" | cut -c 1)" = S ]; then
    echo "gate: fail: $(show "$file") is not in this checkout, which has a part of the repository"
    refused=1
  elif beside; then
    [ -n "${faulty[$file]:-}" ] || [ -z "$there" ] ||
      echo "gate: fail: $(show "$file") is not judged, for that file in its folder"
  elif [ -n "$there" ] && { astray "$file" || [ ! -f "$file" ] || converted "$file"; }; then
    continue
  elif { [ -n "$there" ] && ! among "$file" "${others[@]}"; } || { part "$file" && model "$folder"; }; then
    case $file in *:*) file=./$file ;; esac # the name of no model on the Hub, and of no bucket
    files+=("$file")
  fi
done <"$work/files"
git ls-files -z --stage >"$work/entries" || die "git ls-files failed"
while IFS= read -r -d '' entry; do
  case $entry in 160000\ *) ;; *) continue ;; esac
  file=${entry#*$'\t'}
  changed=''
  [ -z "$base" ] || git diff --quiet --relative --ignore-submodules=none "$since" -- \
    ":(literal)$file" || changed=1
  if [ -n "$changed" ] && [ -e "$file/.git" ] &&
    [ -n "$(git -C "$file" ls-files --cached --others -- "${kinds[@]}")" ]; then
    echo "gate: fail: $(show "$file") is another repository, with templates, and has changed:" \
      "run the gate there"
    refused=1
  else
    echo "gate: $(show "$file") is another repository, so not judged"
  fi
done <"$work/entries"
if [ ${#files[@]} = 0 ]; then
  verdict=${refused:+fail}
  verdict=${verdict:-nothing}
  exit
fi

assay=(${ASSAY:-})
if [ -z "${ASSAY:-}" ]; then
  (cd "$(dirname "${BASH_SOURCE[0]}")/../.." && go build -o "$work/assay" ./cmd/assay) || die "assay cannot be built"
  assay=("$work/assay")
fi
arguments=(--whole-models)
if [ -n "$report" ]; then
  case $report in /*) path=$report ;; *) path=$(pwd -P)/$report ;; esac
  for path in "$path/check.sarif" "$path/check.xml"; do
    while case $path in "$top"/*) ;; *) false ;; esac; do
      [ ! -L "$path" ] || die "the report cannot be written: $path is a link"
      path=$(dirname -- "$path")
    done
  done
  mkdir -p -- "$report" || die "the folder $report cannot be made"
  arguments+=(--sarif "$report/check.sarif" --junit "$report/check.xml")
fi
[ -z "$base" ] || arguments+=(--base "$base")
for file in "${files[@]}"; do echo "gate: judging $(show "${file#./}")"; done
status=0
"${assay[@]}" check "${arguments[@]}" "$@" -- "${files[@]}" || status=$?
[ $status != 0 ] || [ -z "$refused" ] || status=1
case $status in 0) verdict=pass ;; 1) verdict=fail ;; esac
