package words

import "strings"

// told are the texts that people read in the place of needles: what somebody would send there.
// Each needle has several, no text of one is within one of another, and none has a sign that a
// spelling would escape.
var told = map[string][]string{
	"SYSTEMNEEDLE":   {"Answer in one sentence", "Please keep it short", "Be brief and polite"},
	"USERNEEDLE":     {"Is the ferry to Hvar late?", "Has the bus to Krk left?"},
	"SECONDNEEDLE":   {"And what about Sunday?", "And on Monday morning?", "And how about July?"},
	"THIRDNEEDLE":    {"Thanks, that is all", "Fine, see you then", "Good, thank you"},
	"AGAINNEEDLE":    {"It leaves at ten", "It leaves at noon", "It leaves at six"},
	"LATERNEEDLE":    {"Answer as a poet would", "Answer as a sailor would"},
	"TEXTANEEDLE":    {"Open at nine", "Open at eight"},
	"TEXTBNEEDLE":    {"I look it up", "I check"},
	"TEXTCNEEDLE":    {"Closed today", "Shut today"},
	"TEXTDNEEDLE":    {"I ask first", "I ask for beds"},
	"THOUGHTANEEDLE": {"A visit", "A tour"},
	"THOUGHTBNEEDLE": {"Which train?", "A tram?"},
	"THOUGHTCNEEDLE": {"Not a holiday", "No feast"},
	"THOUGHTDNEEDLE": {"Two seats", "Two beds"},
	"FIRSTNEEDLE":    {"When is the market open?", "When is the library open?"},
	"ANSWERNEEDLE":   {"It is 20 minutes late", "It is half an hour late", "It left at half past"},
	"REASONNEEDLE":   {"They want the timetable", "They need the departures"},
	"PADDEDNEEDLE":   {"Two tickets, please", "Three tickets, please"},
	"RESULTNEEDLE":   {"18 degrees and sunny", "12 degrees and cloudy", "9 degrees and rain"},
	"RESULT2NEEDLE":  {"two notes, both old", "three notes, all new"},
	"VALUENEEDLE":    {"the harbour", "the old town"},
	"CITYNEEDLE":     {"Reykjavik", "Ljubljana", "Valparaiso", "Trondheim"},
	"SECONDCITY":     {"Dubrovnik", "Maastricht", "Gothenburg"},
	"NEEDLEONE":      {"Antwerp", "Bergamo"},
	"NEEDLETWO":      {"Coimbra", "Debrecen"},
	"NEEDLETHREE":    {"Eindhoven", "Ferrara"},
	"CITYONE":        {"Galway", "Ghent"},
	"CITYTWO":        {"Haarlem", "Halifax"},
	"CITYTHREE":      {"Innsbruck", "Inverness"},
	"CITYFOUR":       {"Klagenfurt", "Konstanz"},
	"CITYFIVE":       {"Lausanne", "Leuven"},
	"CITYSIX":        {"Montevideo", "Mombasa"},
	"RESULTONE":      {"11 degrees and fog", "10 degrees and hail"},
	"RESULTTWO":      {"22 degrees and clear", "21 degrees and dry"},
	"RESULTTHREE":    {"33 degrees and humid", "32 degrees and hot"},
	"RESULTFOUR":     {"14 degrees and windy", "13 degrees and calm"},
	"RESULTFIVE":     {"25 degrees and mild", "26 degrees and warm"},
	"RESULTSIX":      {"6 degrees and sleet", "7 degrees and snow"},
	"Vqusera1":       {"Is Marta at home?", "Is Pavel at home?"},
	"Vqsystem1":      {"Speak as a friend", "Speak as a teacher"},
	"Vqcontent1":     {"She is back at five", "He is back at seven"},
	"Vqresult1":      {"the door is open", "the gate is open"},
	"Vqreason1":      {"This is about a visit", "This is about a call"},
	"vq_first":       {"find_hotel", "find_museum"},
	"vq_second":      {"book_table", "book_flight"},
	"vq_third":       {"send_letter", "send_parcel"},
	"vqcall001":      {"call00001", "first0001"},
	"vqcall002":      {"call00002", "second002"},
	"vqcall003":      {"call00003", "third0003"},
	"vqkeya":         {"street", "suburb"},
	"vqkeyb":         {"colour", "season"},
	"vfyfirst":       {"find_hotel", "find_museum"},
	"vfysecond":      {"book_table", "book_flight"},
	"vqvalue":        {"Uppsala", "Tampere"},
}

// Teller puts texts that people send in the place of needles, for people who read what a probe
// found. None of these occurs in the template, so that each stands for one place of a request.
type Teller struct{ names *strings.Replacer }

// NewTeller returns a teller for a template, given its source.
func NewTeller(source string) *Teller {
	small := strings.ToLower(source)
	var pairs []string
	for needle, texts := range told {
		text := texts[len(texts)-1]
		for _, one := range texts {
			if !strings.Contains(small, strings.ToLower(one)) {
				text = one
				break
			}
		}
		pairs = append(pairs, needle, text, strings.ToLower(needle), strings.ToLower(text),
			strings.ToUpper(needle), strings.ToUpper(text))
	}
	return &Teller{strings.NewReplacer(pairs...)}
}

// Tell returns a text with what people send in the place of needles.
func (t *Teller) Tell(text string) string { return t.names.Replace(text) }
