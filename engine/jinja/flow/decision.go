package flow

// SiteKind is the kind of a decision at a site.
type SiteKind uint8

// The kinds of sites.
const (
	SiteIf   SiteKind = iota // {% if %}
	SiteElif                 // {% elif %}
	SiteCond                 // x if test else y
	SiteFor                  // {% for %}
	SiteText                 // a text of the template that is chosen as a value
)

var siteNames = [...]string{"if", "elif", "inline if", "for", "text"}

func (k SiteKind) String() string { return siteNames[k] }

// Site is a place in a template where a render decides between outcomes.
type Site struct {
	Kind SiteKind
	Off  int // where the statement or the inline if stands, a byte offset into the source
	Test int // where its condition or, of a loop, its iterable stands
}

// Outcome is a way in which a site decides.
type Outcome uint8

// The outcomes. A condition has the first two, where an absent else counts as one, a loop the next
// three, a text the last.
const (
	False    Outcome = iota // the condition did not hold
	True                    // the condition held
	Empty                   // the loop had nothing to go through
	Entered                 // the loop's body ran
	Repeated                // and ran again
	Written                 // the text was written
)

var outcomeNames = [...]string{"false", "true", "empty", "entered", "repeated", "written"}

func (o Outcome) String() string { return outcomeNames[o] }

// Outcomes returns the outcomes that a site of the kind has.
func (k SiteKind) Outcomes() []Outcome {
	switch k {
	case SiteFor:
		return []Outcome{Empty, Entered, Repeated}
	case SiteText:
		return []Outcome{Written}
	}
	return []Outcome{False, True}
}

// Decision names a site: its kind and where it stands.
type Decision struct {
	Kind SiteKind
	Off  int // as [Site] has it
}

// Decision returns the name of the site.
func (s Site) Decision() Decision { return Decision{s.Kind, s.Off} }
