#!/usr/bin/env bash
# Judges templates (`assay check`) and, against a base commit, the changes of an edit (`assay
# diff`), in one report.
#
#   ci/gate.sh [--base COMMIT] [--only-changed] [--templates PATHSPEC] [--report DIR] [-- ARGUMENTS OF CHECK]
#
# Run it in the folder of the templates. ASSAY is the command to run; by default it is built from
# this checkout. With --report, check.sarif and check.xml (JUnit) are left in DIR. Where
# GITHUB_OUTPUT names a file, "verdict" is added to it: pass, fail, error or nothing. Exit status: 0
# pass or nothing to judge, 1 fail, 2 error: it could not run.
#
# The repository may be a stranger's. Its names are shown as text that no terminal and no runner of
# jobs obeys; a template that is a link out of the tracked files is rejected unread; a report goes
# through no link.
set -euo pipefail

base='' only_changed='' templates='*.jinja' report=''
show() { # NAME, so that it stays on its line and means nothing to who prints it
  local LC_ALL=C
  case $1 in *[!\ -~]* | *'##['*) printf '%q' "$1" ;; *) printf '%s' "$1" ;; esac
}
die() { echo "gate: $(show "$*")" >&2; verdict error; exit 2; }
verdict() { # the last line has the words for the exit status
  [ -z "${GITHUB_OUTPUT:-}" ] || echo "verdict=$1" >>"$GITHUB_OUTPUT"
  case $1 in pass | fail) echo "gate: $1" ;; nothing) echo "gate: nothing to judge" ;; esac
}
while [ $# -gt 0 ]; do
  case $1 in --base | --templates | --report) [ $# -gt 1 ] || die "$1 needs a value" ;; esac
  case $1 in
    --base)
      base=$2
      [ -n "$base" ] || die "--base needs a commit, and got an empty text"
      shift 2
      ;;
    --only-changed) only_changed=1; shift ;;
    --templates) templates=$2; shift 2 ;;
    --report) report=$2; shift 2 ;;
    --) shift; break ;;
    *) die "unknown argument $1" ;;
  esac
done
[ -z "$only_changed" ] || [ -n "$base" ] || die "--only-changed needs --base"

# Names are patterns only where this script says so, and no setting makes git run a program or take
# a folder of the repository for a repository of its own.
unset GIT_LITERAL_PATHSPECS GIT_GLOB_PATHSPECS GIT_NOGLOB_PATHSPECS GIT_ICASE_PATHSPECS
export GIT_NO_REPLACE_OBJECTS=1 GIT_CONFIG_COUNT=${GIT_CONFIG_COUNT:-0}
for setting in core.fsmonitor=false core.hooksPath=/dev/null safe.bareRepository=explicit; do
  export "GIT_CONFIG_KEY_$GIT_CONFIG_COUNT=${setting%%=*}"
  export "GIT_CONFIG_VALUE_$GIT_CONFIG_COUNT=${setting#*=}"
  GIT_CONFIG_COUNT=$((GIT_CONFIG_COUNT + 1))
done

work=$(mktemp -d "${TMPDIR:-/tmp}/assay-gate.XXXXXX")
trap 'rm -rf "$work"' EXIT
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
  git diff --name-only -z --relative --diff-filter=D --find-renames "$since" -- "$templates" >"$work/deleted" || die "git diff failed"
  while IFS= read -r -d '' file; do echo "gate: deleted, so not judged: $(show "$file")"; done <"$work/deleted"
fi
if [ -n "$only_changed" ]; then
  git diff --name-only -z --relative --diff-filter=d "$since" -- "$templates" >"$work/files" || die "git diff failed"
  git ls-files -z --others --exclude-standard -- "$templates" >>"$work/files" || die "git ls-files failed"
else
  git ls-files -z --cached --others --exclude-standard --deduplicate -- "$templates" >"$work/files" || die "git ls-files failed"
fi
top=$(git rev-parse --show-toplevel) || die "$PWD has no work tree, where templates are looked for"
tracked() { # FILE: the target of a link is a file of the work tree
  local target
  target=$(readlink -f -- "$1" && echo .) || return 1
  target=${target%$'\n.'}
  case $target in "$top"/*) ;; *) return 1 ;; esac
  git -C "$top" ls-files --error-unmatch -- ":(literal)${target#"$top"/}" >"$work/found" 2>&1
}
files=() refused=''
astray() { # LINK: whether it leads out of the files that git tracks
  [ -L "$1" ] && ! tracked "$1" || return 1
  echo "gate: fail: $(show "$1") is a link that leads to no file of the repository"
  refused=1
}
declare -A wrong=()
given() { # FILE: whether it came with the repository
  git ls-files --error-unmatch -- ":(literal)$1" >"$work/found" 2>&1
}
beside() { # FILE: whether a link in its folder is astray; cases and configurations there are read
  local folder link
  folder=$(dirname -- "$1" && echo .)
  folder=${folder%$'\n.'}
  if [ -z "${wrong[$folder]:-}" ]; then
    wrong[$folder]=no
    for link in "$folder"/* "$folder"/.*; do
      ! { [ -L "$link" ] && given "$link" && astray "${link#./}"; } || wrong[$folder]=yes
    done
  fi
  [ "${wrong[$folder]}" = yes ]
}
attribute=''
converted() { # FILE: whether git writes it otherwise than it keeps it, and others get it kept
  local path value
  while IFS= read -r -d '' path && IFS= read -r -d '' attribute && IFS= read -r -d '' value; do
    case $value in unspecified | unset) ;; *) return 0 ;; esac
  done < <(git check-attr -z working-tree-encoding ident -- "$1")
  return 1
}
while IFS= read -r -d '' file; do
  if beside "$file"; then
    [ -L "$file" ] || echo "gate: fail: $(show "$file") is not judged, for that link in its folder"
  elif astray "$file"; then
    continue
  elif [ -f "$file" ] && converted "$file"; then
    echo "gate: fail: $(show "$file") has another content in the repository, by the $attribute" \
      "of a .gitattributes"
    refused=1
  elif [ -f "$file" ]; then
    case $file in *:*) file=./$file ;; esac # the name of no model on the Hub, and of no bucket
    files+=("$file")
  elif [ "$(git ls-files -t -- ":(literal)$file" | cut -c 1)" = S ]; then
    echo "gate: fail: $(show "$file") is not in this checkout, which has a part of the repository"
    refused=1
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
    [ -n "$(git -C "$file" ls-files --cached --others -- "$templates")" ]; then
    echo "gate: fail: $(show "$file") is another repository, with templates, and has changed:" \
      "run the gate there"
    refused=1
  else
    echo "gate: $(show "$file") is another repository, so not judged"
  fi
done <"$work/entries"
if [ ${#files[@]} = 0 ] && [ -n "$refused" ]; then
  verdict fail
  exit 1
fi
if [ ${#files[@]} = 0 ]; then
  verdict nothing
  exit 0
fi

assay=(${ASSAY:-})
if [ -z "${ASSAY:-}" ]; then
  (cd "$(dirname "${BASH_SOURCE[0]}")/.." && go build -o "$work/assay" ./cmd/assay) || die "assay cannot be built"
  assay=("$work/assay")
fi
arguments=()
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
"${assay[@]}" check ${arguments[@]+"${arguments[@]}"} "$@" -- "${files[@]}" || status=$?
[ $status != 0 ] || [ -z "$refused" ] || status=1
case $status in
  0) verdict pass ;;
  1) verdict fail ;;
  *) verdict error; status=2 ;;
esac
exit $status
