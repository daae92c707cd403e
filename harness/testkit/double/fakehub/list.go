package fakehub

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// limit is a bound on the requests of a kind.
type limit struct {
	requests int
	window   time.Duration
	left     int
	end      time.Time
}

// Limit bounds the requests of a kind, "api" or "resolvers", in each window of time, as the Hub
// does: it announces the rest in every answer, and answers 429 beyond it.
func (h *Hub) Limit(kind string, requests int, window time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.limits[kind] = &limit{requests: requests, window: window}
}

// refused counts a request, announces the rest, and reports whether there is none.
func (h *Hub) refused(w *answer, r *http.Request) bool {
	kind := "resolvers"
	if strings.HasPrefix(r.URL.Path, "/api/") {
		kind = "api"
	}
	l := h.limits[kind]
	if l == nil {
		return false
	}
	now := time.Now()
	if now.After(l.end) {
		l.left, l.end = l.requests, now.Add(l.window)
	}
	l.left--
	w.Header().Set("RateLimit", fmt.Sprintf("%q;r=%d;t=%d", kind, max(0, l.left),
		int(math.Floor(l.end.Sub(now).Seconds()))))
	if l.left < 0 {
		w.fail(http.StatusTooManyRequests, "", "")
		return true
	}
	return false
}

// serveList answers a page of the list of public repositories, those with the most downloads first.
func (h *Hub) serveList(w *answer, query url.Values) {
	if token := strings.TrimPrefix(w.request.Header.Get("Authorization"), "Bearer "); token != "" &&
		!slices.Contains(h.tokens, token) {
		w.fail(http.StatusUnauthorized, "", "Invalid credentials in Authorization header")
		return
	}
	order := func(r *Repo, loaded int64, id string) int {
		return cmp.Or(cmp.Compare(loaded, r.loaded), cmp.Compare(r.id, id))
	}
	if h.sorted == nil {
		h.sorted = slices.SortedFunc(maps.Values(h.repos), func(a, b *Repo) int {
			return order(a, b.loaded, b.id)
		})
	}
	from := 0
	if cursor := query.Get("cursor"); cursor != "" {
		text, id, _ := strings.Cut(cursor, " ")
		loaded, _ := strconv.ParseInt(text, 10, 64)
		after, found := slices.BinarySearchFunc(h.sorted, id, func(r *Repo, id string) int {
			return order(r, loaded, id)
		})
		if from = after; found {
			from++
		}
	}
	most, err := strconv.Atoi(query.Get("limit"))
	if err != nil {
		most = 1000
	}
	page, last := []any{}, (*Repo)(nil)
	for _, r := range h.sorted[from:] {
		if r.private || !r.has(query) {
			continue
		}
		if len(page) == most {
			query.Set("cursor", fmt.Sprintf("%d %s", last.loaded, last.id))
			w.Header().Set("Link", fmt.Sprintf(`<%s/api/models?%s>; rel="next"`, h.hub.URL,
				query.Encode()))
			break
		}
		page, last = append(page, r.listed(query["expand"])), r
	}
	body, err := json.Marshal(page)
	if err != nil {
		w.fail(http.StatusInternalServerError, "", err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("ETag", `W/"`+sum(body)[:32]+`"`)
	w.file = body
}

// has reports whether a query's author and tags are the repository's.
func (r *Repo) has(query url.Values) bool {
	author := query.Get("author")
	if author != "" && !strings.HasPrefix(r.id, author+"/") {
		return false
	}
	return !slices.ContainsFunc(query["filter"], func(tag string) bool {
		return !slices.Contains(r.tags, tag)
	})
}

// listed is the repository in a list, with the members that were asked for.
func (r *Repo) listed(members []string) map[string]any {
	commit, files, _ := r.resolve("main")
	siblings := []any{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		siblings = append(siblings, map[string]any{"rfilename": name})
	}
	all := map[string]any{"sha": commit, "downloads": r.loaded, "tags": r.tags, "gated": false,
		"siblings": siblings}
	if r.gated != "" {
		all["gated"] = r.gated
	}
	shown := map[string]any{"_id": "0", "id": r.id}
	for _, name := range members {
		if v, known := all[name]; known {
			shown[name] = v
		}
	}
	return shown
}
