package hub

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// quantisations are the choices, in order, where the caller asks for none (M3).
var quantisations = [...]string{"q4_k_m", "q5_k_m", "q4_0", "q8_0", "q6_k", "q3_k_m", "q2_k"}

// part is the name of a part of a split model.
var part = regexp.MustCompile(`^(.*)-(\d{5})-of-(\d{5})\.gguf$`)

// companion matches the name of a file that belongs to a model and is not one itself: projectors,
// importance matrices, adapters, vocabularies, as the naming convention of GGUF has them.
var companion = regexp.MustCompile(`(?i)(^|[^a-z0-9])(mmproj|imatrix|lora|vocab)([^a-z0-9]|$)`)

// candidate is a model in a repository: one file, or all parts of it.
type candidate struct {
	name  string // of the file, or of the first part
	parts []File
	count int // of parts that there should be
}

// Choose returns the model file that is wanted, or all parts of it in order. want is the name of a
// file, of any part, or a quantisation such as "Q8_0"; where it is empty, the one file there is,
// else Q4_K_M and the fallbacks of M3 decide. Where that leaves several or none, the error lists
// the files and is of kind [ErrChoice].
func (r *Repo) Choose(want string) ([]File, error) {
	all := r.candidates()
	if len(all) == 0 {
		return nil, &Error{What: r.ID, Kind: ErrChoice,
			Msg: "no .gguf file at this revision" + r.otherwise()}
	}
	models := slices.DeleteFunc(slices.Clone(all),
		func(c candidate) bool { return companion.MatchString(path.Base(c.name)) })
	if len(models) == 0 {
		models = all
	}
	var left []candidate
	switch {
	case want != "":
		if left = named(all, want); len(left) == 0 {
			left = quantised(models, want)
		}
		if len(left) == 0 {
			return nil, choiceError(r, all, "no file or quantisation %q", want)
		}
	case len(models) == 1:
		left = models
	default:
		for _, q := range quantisations {
			if left = quantised(models, q); len(left) > 0 {
				break
			}
		}
		if len(left) == 0 {
			return nil, choiceError(r, models, "%d model files, and none is %s", len(models),
				strings.ToUpper(strings.Join(quantisations[:], ", ")))
		}
	}
	if len(left) > 1 {
		return nil, choiceError(r, left, "%d files fit", len(left))
	}
	return left[0].whole(r)
}

// otherwise describes the files of a repository without model files.
func (r *Repo) otherwise() string {
	for _, f := range r.Files {
		if strings.HasSuffix(f.Name, ".safetensors") {
			return "; the weights are in safetensors files: look for a repository with GGUF " +
				"files of the same model"
		}
	}
	return ""
}

// candidates groups the model files.
func (r *Repo) candidates() []candidate {
	var all []candidate
	split := map[string]int{} // where a split model is in all, by the name of its first part
	for _, f := range r.Files {
		if !strings.HasSuffix(strings.ToLower(f.Name), ".gguf") {
			continue
		}
		m := part.FindStringSubmatch(f.Name)
		if m == nil {
			all = append(all, candidate{f.Name, []File{f}, 1})
			continue
		}
		count, _ := strconv.Atoi(m[3])
		first := fmt.Sprintf("%s-00001-of-%s.gguf", m[1], m[3])
		i, found := split[first]
		if !found {
			i = len(all)
			split[first] = i
			all = append(all, candidate{name: first, count: count})
		}
		all[i].parts = append(all[i].parts, f)
	}
	return all
}

// whole returns the parts in order, or reports which is missing.
func (c candidate) whole(r *Repo) ([]File, error) {
	m := part.FindStringSubmatch(c.name)
	if m == nil {
		return c.parts, nil
	}
	var parts []File
	at := map[string]int{}
	for i, f := range c.parts {
		at[f.Name] = i
	}
	for no := range c.count {
		name := fmt.Sprintf("%s-%05d-of-%s.gguf", m[1], no+1, m[3])
		i, found := at[name]
		if !found {
			return nil, &Error{What: r.ID, Kind: ErrNotFound,
				Msg: fmt.Sprintf("part %d of %d, %s, is missing", no+1, c.count, name)}
		}
		parts = append(parts, c.parts[i])
	}
	if len(parts) == 0 {
		return nil, &Error{What: r.ID, Kind: ErrNotFound,
			Msg: fmt.Sprintf("%s is by its name part of none", c.name)}
	}
	return parts, nil
}

// named returns the candidate with a file of the name.
func named(all []candidate, name string) []candidate {
	for _, c := range all {
		if slices.ContainsFunc(c.parts, func(f File) bool { return f.Name == name }) {
			return []candidate{c}
		}
	}
	return nil
}

// quantised returns the candidates whose file name has a quantisation: as a word of its own where
// there is such a one, so that Q6_K is not Q6_K_L, else anywhere.
func quantised(all []candidate, q string) []candidate {
	word := regexp.MustCompile(`(?i)(^|[^a-z0-9])` + regexp.QuoteMeta(q) + `($|[^a-z0-9_])`)
	var words, anywhere []candidate
	for _, c := range all {
		base := path.Base(c.name)
		if word.MatchString(base) {
			words = append(words, c)
		}
		if strings.Contains(strings.ToLower(base), strings.ToLower(q)) {
			anywhere = append(anywhere, c)
		}
	}
	if len(words) > 0 {
		return words
	}
	return anywhere
}

// mostListed is how many candidates an error lists.
const mostListed = 40

// choiceError lists the choices.
func choiceError(r *Repo, from []candidate, format string, args ...any) error {
	var b strings.Builder
	fmt.Fprintf(&b, format+"; choose one with %s%s:FILE", append(args, Scheme, r.ID)...)
	for i, c := range from {
		if i == mostListed {
			fmt.Fprintf(&b, "\n  and %d more", len(from)-i)
			break
		}
		size := int64(0)
		for _, f := range c.parts {
			size += max(f.Size, 0)
		}
		fmt.Fprintf(&b, "\n  %s", plain(c.name))
		if c.count > 1 {
			fmt.Fprintf(&b, ", %d parts", c.count)
		}
		if size > 0 {
			fmt.Fprintf(&b, ", %s", Bytes(size))
		}
	}
	return &Error{What: r.ID, Kind: ErrChoice, Msg: b.String()}
}

// Bytes writes a number of bytes for people: "4.7 GB". The units are powers of ten, as the Hub's
// pages have them.
func Bytes(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d bytes", n)
	}
	v, unit := float64(n)/1000, 0
	for v >= 999.95 && unit < 3 {
		v, unit = v/1000, unit+1
	}
	return fmt.Sprintf("%.1f %cB", v, "kMGT"[unit])
}
