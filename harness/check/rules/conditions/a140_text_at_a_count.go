package conditions

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/goassay/assay/engine/chat"
	"github.com/goassay/assay/engine/source"
	"github.com/goassay/assay/harness/check/fact/growth"
	"github.com/goassay/assay/harness/check/fact/prompts"
	"github.com/goassay/assay/harness/check/probe"
	"github.com/goassay/assay/harness/check/rule"
	"github.com/goassay/assay/harness/check/sample"
	"github.com/goassay/assay/harness/check/subject"
	"github.com/goassay/assay/harness/report"
)

// TextAtACount is the rule A140: the template writes words of its own that other requests of the
// kind do not have: a count, a length, the day or the look of a text, a name or an id brings them
// about.
var TextAtACount = &probe.Rule{
	Rule: rule.Rule{
		ID: "A140", Name: "text-at-a-count", Severity: rule.Error, Harm: rule.Changed,
		Short: "The template adds text of its own at a certain count, length, date, or look of a " +
			"text, a name or an id.",
		Damage: "Whoever tests with short conversations does not see what the model is told " +
			"later; a stranger's template can hide instructions so.",
		Fix: "Write the same text whatever the number of messages, the texts and the date.",
	},
	Unsuppressible: true,
	Sized:          true,
	Find:           prompts.IfHeard(checkGrown),
}

func checkGrown(s *probe.Subject, find probe.Finder) {
	if found := growth.Requests.Of(s).Planted; found.Text != "" {
		find(found.At, "%s", found.Text)
		return
	}
	if !findLooks(s, find) {
		findDays(s, find)
	}
}

var numeral = regexp.MustCompile(`[0-9]+`)

// calendar matches the names of months and days of the week, and the halves of a day, in English,
// and numbers.
var calendar = regexp.MustCompile(`(?i)\b(jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec|` +
	`january|february|march|april|august|september|october|november|december|` +
	`mon|tue|wed|thu|fri|sat|sun|monday|tuesday|wednesday|thursday|friday|saturday|sunday|` +
	`am|pm)\b|[0-9]+`)

// findDays renders a conversation on manyOf days. The prompts may differ in dates alone.
func findDays(s *probe.Subject, find probe.Finder) {
	ct := *s.Template.ChatTemplate()
	asked, now := false, subject.Now()
	ct.Now = func() time.Time { asked = true; return now }
	in := s.Template.Caps().Fit(chat.Request{Messages: sample.Talk(sample.System, sample.User,
		sample.Answer, sample.LaterUser), Tools: sample.Tools()}).Input
	was, err := ct.Render(in)
	if !asked || err != nil {
		return
	}
	for _, day := range days(s) {
		now = day
		if is, err := ct.Render(in); err == nil && !sameButDates(is, was) {
			find(probe.Nowhere, "on %s the template writes other text than on %s, beside the "+
				"date itself\n%s",
				day.Format(time.DateTime), subject.Now().Format(time.DateTime),
				report.Sides("then", is, "usually", was))
			return
		}
	}
}

// sameButDates reports whether two prompts differ in dates alone. No date goes over lines, so only
// those from the first that differs to the last are looked at.
func sameButDates(a, b string) bool {
	same := strings.LastIndexByte(a[:report.Parting(a, b)], '\n') + 1
	a, b = a[same:], b[same:]
	if _, rest, ok := strings.Cut(source.CommonSuffix(a, b), "\n"); ok {
		a, b = a[:len(a)-len(rest)], b[:len(b)-len(rest)]
	}
	return calendar.ReplaceAllString(a, "0") == calendar.ReplaceAllString(b, "0")
}

// days are times that have every month, day of the month and of the week, hour and minute, and
// those that the numbers and dates in a template make.
func days(s *probe.Subject) []time.Time {
	var all []time.Time
	for i := range 60 {
		all = append(all, time.Date(2026+i*i, time.Month(i%12+1), i%31+1, i%24, i, 59-i, 0,
			time.UTC))
	}
	var years, months, dates []int
	add := func(n int) {
		switch {
		case n >= 1970 && n <= 9999:
			years = append(years, n, n+1)
		case n >= 1 && n <= 31:
			dates = append(dates, n)
			if n <= 12 {
				months = append(months, n)
			}
		}
	}
	for _, n := range growth.Numbers(s) {
		add(n)
	}
	for c := range s.Flow().Strings() {
		if !c.Quoted {
			continue
		}
		for _, word := range numeral.FindAllString(c.Text, 8) {
			if n, err := strconv.Atoi(word); err == nil {
				add(n)
			}
			if t, err := time.Parse("20060102", word); err == nil {
				all = append(all, t, t.AddDate(0, 0, 1))
			}
		}
		for _, name := range calendar.FindAllString(c.Text, 8) {
			for month := time.January; month <= time.December; month++ {
				if len(name) >= 3 && strings.EqualFold(month.String()[:3], name[:3]) {
					months = append(months, int(month))
				}
			}
		}
	}
	years, months = append(years, subject.Now().Year()), append(months, 12)
	for _, year := range years[:min(len(years), 6)] {
		for _, month := range months[:min(len(months), 8)] {
			for _, date := range append(dates[:min(len(dates), 8)], 31) {
				all = append(all, time.Date(year, time.Month(month), date, 12, 0, 0, 0, time.UTC))
			}
		}
	}
	return all
}
