package format

// Continued returns the text after the header of a message that is to be continued (E22): its
// reasoning in the markers of reasoning, left open if it is the reasoning that is continued, or the
// empty block where the template writes one, then its content after the marker of content. A format
// that spells no reasoning leaves it out.
func (f Format) Continued(reasoning, content string, inReasoning bool) string {
	if len(f.Routes) > 0 {
		return f.continuedRoutes(reasoning, content, inReasoning)
	}
	text := ""
	if !f.Reasoning.IsZero() && (reasoning != "" || inReasoning) {
		text = f.Reasoning.Open.Full() + reasoning
		if inReasoning {
			return text
		}
		text += f.Reasoning.Close.Full()
	} else if reasoning == "" {
		text = f.Reasoning.Empty
	}
	if f.Content.Wraps(reasoning != "", false) || f.Content.Mode == ContentPlain && reasoning == "" {
		text += f.Content.Open.Full()
	}
	return text + content
}

func (f Format) continuedRoutes(reasoning, content string, inReasoning bool) string {
	text := ""
	if r, ok := f.route(RouteReasoning); ok && (reasoning != "" || inReasoning) {
		text = spell(r.Head) + reasoning
		if inReasoning {
			return text
		}
		if len(r.Close) > 0 {
			text += r.Close[0].Full()
		}
		text += r.Start.Full()
	}
	if r, ok := f.route(RouteContent); ok {
		text += spell(r.Head)
	}
	return text + content
}

// route returns the first route of a kind.
func (f Format) route(kind RouteKind) (Route, bool) {
	for _, r := range f.Routes {
		if r.Kind == kind {
			return r, true
		}
	}
	return Route{}, false
}

// spell writes the literals of a head, without the parts that may be missing.
func spell(parts []Part) string {
	text := ""
	for _, p := range parts {
		if p.Kind == SlotLit && !p.Opt {
			text += p.Text.Full()
		}
	}
	return text
}
