package editor

import "encoding/json"

// The parts of the Language Server Protocol 3.17 that the server uses, with the protocol's names.
type (
	position struct {
		Line      int `json:"line"`      // from 0
		Character int `json:"character"` // in UTF-16 units, from 0
	}
	span struct {
		Start position `json:"start"`
		End   position `json:"end"`
	}
	location struct {
		URI   string `json:"uri"`
		Range span   `json:"range"`
	}
	diagnostic struct {
		Range       span             `json:"range"`
		Severity    int              `json:"severity"`
		Code        string           `json:"code,omitempty"`
		Description *codeDescription `json:"codeDescription,omitempty"`
		Source      string           `json:"source"`
		Message     string           `json:"message"`
		Related     []related        `json:"relatedInformation,omitempty"`
	}
	codeDescription struct {
		Href string `json:"href"`
	}
	related struct {
		Location location `json:"location"`
		Message  string   `json:"message"`
	}
	publishParams struct {
		URI         string       `json:"uri"`
		Version     *int         `json:"version,omitempty"`
		Diagnostics []diagnostic `json:"diagnostics"`
	}
	textDocument struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
		Text    string `json:"text"`
	}
	documentParams struct {
		TextDocument textDocument `json:"textDocument"`
	}
	changeParams struct {
		TextDocument textDocument `json:"textDocument"`
		Changes      []change     `json:"contentChanges"`
	}
	change struct {
		Range *span  `json:"range"` // nil: all of the document
		Text  string `json:"text"`
	}
	placeParams struct {
		TextDocument textDocument `json:"textDocument"`
		Position     position     `json:"position"`
	}
	hover struct {
		Contents markup `json:"contents"`
		Range    *span  `json:"range,omitempty"`
	}
	markup struct {
		Kind  string `json:"kind"`
		Value string `json:"value"`
	}
	completionItem struct {
		Label  string `json:"label"`
		Kind   int    `json:"kind"`
		Detail string `json:"detail,omitempty"`
	}
	completionList struct {
		Incomplete bool             `json:"isIncomplete"`
		Items      []completionItem `json:"items"`
	}
	actionParams struct {
		TextDocument textDocument `json:"textDocument"`
		Range        span         `json:"range"`
		Context      struct {
			Only []string `json:"only"`
		} `json:"context"`
	}
	codeAction struct {
		Title       string         `json:"title"`
		Kind        string         `json:"kind,omitempty"`
		Diagnostics []diagnostic   `json:"diagnostics,omitempty"`
		Edit        *workspaceEdit `json:"edit,omitempty"`
		Command     *command       `json:"command,omitempty"`
	}
	workspaceEdit struct {
		Changes []documentEdit `json:"documentChanges"`
	}
	documentEdit struct {
		TextDocument versioned  `json:"textDocument"`
		Edits        []textEdit `json:"edits"`
	}
	versioned struct {
		URI     string `json:"uri"`
		Version int    `json:"version"`
	}
	textEdit struct {
		Range   span   `json:"range"`
		NewText string `json:"newText"`
	}
	command struct {
		Title     string `json:"title"`
		Command   string `json:"command"`
		Arguments []any  `json:"arguments"`
	}
	commandParams struct {
		Command   string            `json:"command"`
		Arguments []json.RawMessage `json:"arguments"`
	}
	initializeParams struct {
		Capabilities struct {
			Window struct {
				ShowDocument struct {
					Support bool `json:"support"`
				} `json:"showDocument"`
			} `json:"window"`
			Workspace struct {
				Watched struct {
					Dynamic bool `json:"dynamicRegistration"`
				} `json:"didChangeWatchedFiles"`
			} `json:"workspace"`
		} `json:"capabilities"`
	}
)

// The numbers of the protocol that the server uses.
const (
	severityError       = 1
	severityWarning     = 2
	severityInformation = 3
	severityHint        = 4

	kindMethod   = 2
	kindFunction = 3
	kindField    = 5
	kindVariable = 6
	kindKeyword  = 14

	syncIncremental = 2

	quickFix  = "quickfix"
	fixAll    = "source.fixAll"
	fixAllOwn = "source.fixAll.assay"
)

// capabilities are what the server can do.
func capabilities(version string) any {
	type object = map[string]any
	return object{
		"serverInfo": object{"name": "assay", "version": version},
		"capabilities": object{
			"positionEncoding": "utf-16",
			"textDocumentSync": object{"openClose": true, "change": syncIncremental, "save": true},
			"hoverProvider":    true,
			"completionProvider": object{
				"triggerCharacters": []string{".", "|"},
			},
			"codeActionProvider":     object{"codeActionKinds": []string{quickFix, fixAllOwn}},
			"executeCommandProvider": object{"commands": []string{renderCommand}},
		},
	}
}
