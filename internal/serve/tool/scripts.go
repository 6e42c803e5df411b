package tool

import (
	"context"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/lib/fault"
	"candela/lib/pine"
	"candela/lib/ta"
)

// Scripts stores the owner's scripts. It must be safe for concurrent use.
type Scripts interface {
	Save(name, source string) (*ta.Def, error)
	Delete(name string) error
	Source(name string) (string, error)
	// Library returns the source of what an import names, as user/library/number.
	Library(path string) (string, bool)
	// Importers returns the stored scripts that import a library.
	Importers(path string) []string
}

// scriptArgs holds the arguments of the script tools.
type scriptArgs struct{ name, source string }

const scriptNameDoc = "Lower-case letters, digits and _, not a name of list_indicators; user/library/number for a library."

// scriptTools are the tools of the set scripts.
func scriptTools(s Scripts) []toolSpec {
	return []toolSpec{checkScript(s), saveScript(s), deleteScript(s)}
}

func checkScript(s Scripts) toolSpec {
	arguments := func() (*scriptArgs, args) {
		a := &scriptArgs{}
		return a, args{
			stringArg("source", &a.source, pine.MaxSource, "The Pine script; one of version 1 to 4 is converted."),
			stringArg("name", &a.name, 160, "A stored script instead of source."),
		}
	}
	return toolSpec{
		name: "check_script", title: "Check a Pine script", scope: principal.Charts, set: ScriptsSet,
		description: "Check a Pine script without running it: errors and warnings with line, column and fix, its inputs as parameters, lines and signals. " +
			`Chart it with generate_chart and {"name":"pine","source":"..."} in indicators. 0.5 to 4 KB.`,
		output: checkedSchema(), hints: hints{readOnly: true, idempotent: true},
		call: calling(arguments, func(_ context.Context, _ principal.Caller, a *scriptArgs) (mcp.Result, error) {
			if (a.source == "") == (a.name == "") {
				return mcp.Result{}, fault.Missing("source", "either source, the text of a script, or name, that of a stored one")
			}
			if a.source == "" {
				stored, err := s.Source(a.name)
				if err != nil {
					return mcp.Result{}, err
				}
				a.source = stored
			}
			return jsonResult(checked(a.source, s.Library), nil)
		}),
	}
}

func saveScript(s Scripts) toolSpec {
	arguments := func() (*scriptArgs, args) {
		a := &scriptArgs{}
		return a, args{
			stringArg("name", &a.name, 160, scriptNameDoc).require(),
			stringArg("source", &a.source, pine.MaxSource, "The Pine script, version 5 or 6.").require(),
		}
	}
	return toolSpec{
		name: "save_script", title: "Store a Pine script", scope: principal.Trade, set: ScriptsSet,
		description: "Store a Pine script under a name, which then works as an indicator in charts, get_indicators and alerts. " +
			"A script that does not compile is refused with line, column and fix. One of the same name is replaced; alerts keep the version they were set with.",
		output: object(append([]prop{
			typedProp("name", "string", ""), typedProp("version?", "string", "Of the script and what it imports."),
			listProp("lines?", "For value conditions.", &schema{Type: "string"}), listProp("signals?", "For indicator_signal conditions.", &schema{Type: "string"}),
		}, conversionProps()...)...),
		hints: hints{idempotent: true, destructive: true},
		call: calling(arguments, func(_ context.Context, _ principal.Caller, a *scriptArgs) (mcp.Result, error) {
			d, err := s.Save(a.name, a.source)
			if err != nil {
				return mcp.Result{}, err
			}
			var answer struct {
				Name    string   `json:"name"`
				Version string   `json:"version,omitempty"`
				Lines   []string `json:"lines,omitempty"`
				Signals []string `json:"signals,omitempty"`
				conversion
			}
			if answer.Name = a.name; d != nil {
				answer.Version, answer.Lines, answer.Signals = d.Version, d.Lines, d.Labels()
			}
			p, _ := pine.Check(a.source, s.Library)
			answer.conversion = conversionOf(p)
			return jsonResult(answer, nil)
		}),
	}
}

func deleteScript(s Scripts) toolSpec {
	arguments := func() (*scriptArgs, args) {
		a := &scriptArgs{}
		return a, args{stringArg("name", &a.name, 160, "Of a stored script.").require()}
	}
	return toolSpec{
		name: "delete_script", title: "Delete a Pine script", scope: principal.Trade, set: ScriptsSet,
		description: "Delete a stored Pine script. Alerts on it keep the version they were set with.",
		output:      object(typedProp("deleted", "string", ""), listProp("needed_for?", "", &schema{Type: "string"})), hints: hints{destructive: true},
		call: calling(arguments, func(_ context.Context, _ principal.Caller, a *scriptArgs) (mcp.Result, error) {
			answer := struct {
				Deleted   string   `json:"deleted"`
				NeededFor []string `json:"needed_for,omitempty"`
			}{a.name, s.Importers(a.name)}
			if err := s.Delete(a.name); err != nil {
				return mcp.Result{}, err
			}
			return jsonResult(answer, nil)
		}),
	}
}

// finding is a diagnostic of a script.
type finding struct {
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Severity string `json:"severity"`
	Code     string `json:"code"`
	Message  string `json:"message"`
	Fix      string `json:"fix,omitempty"`
	Instead  string `json:"instead,omitempty"`
}

// checkedJSON is the answer of check_script.
type checkedJSON struct {
	OK       bool           `json:"ok"`
	Title    string         `json:"title,omitempty"`
	Kind     string         `json:"kind,omitempty"`
	Overlay  bool           `json:"overlay,omitempty"`
	Findings []finding      `json:"findings,omitempty"`
	Params   []catalogParam `json:"configurable_params,omitempty"`
	Lines    []string       `json:"lines,omitempty"`
	Signals  signalMeanings `json:"signals,omitempty"`
	Requests int            `json:"requests,omitempty"`
	Warmup   int            `json:"warmup_bars,omitempty"`
	conversion
}

// conversion says what was changed in a script of an older version.
type conversion struct {
	From    int           `json:"converted_from,omitempty"`
	Changes []pine.Change `json:"changes,omitempty"`
	More    int           `json:"more_changes,omitempty"`
}

func conversionOf(p *pine.Program) conversion {
	if p == nil || p.Converted == nil {
		return conversion{}
	}
	return conversion{p.Converted.From, p.Converted.Changes, p.Converted.More}
}

// conversionProps describe it.
func conversionProps() []prop {
	return []prop{
		typedProp("converted_from?", "integer", "The version of a script before 5, which runs as one of version 5."),
		listProp("changes?", "What was converted.", object(typedProp("line", "integer", ""), typedProp("was", "string", ""), typedProp("is", "string", ""))),
		typedProp("more_changes?", "integer", "Changes that are not listed."),
	}
}

// checked describes a script.
func checked(source string, library func(string) (string, bool)) checkedJSON {
	p, found := pine.Check(source, library)
	a := checkedJSON{OK: p != nil}
	for _, d := range found[:min(len(found), 2*pine.MaxDiagnostics)] {
		a.Findings = append(a.Findings, finding{d.Line, d.Column, d.Severity.String(), d.Code, d.Message, d.Fix, d.Instead})
	}
	if p == nil {
		return a
	}
	a.conversion = conversionOf(p)
	d := p.Def(ta.InlineName)
	a.Title, a.Overlay, a.Kind = p.Title, p.Overlay, [...]string{"indicator", "strategy", "library"}[p.Kind]
	a.Params, a.Lines, a.Signals, a.Requests, a.Warmup = fullItem(d).Params, d.Lines, d.Signals, len(p.Requests), p.Stable()
	return a
}

func checkedSchema() *schema {
	return object(append([]prop{
		typedProp("ok", "boolean", "It compiles."), typedProp("title?", "string", ""), enumProp("kind?", "", "indicator", "strategy", "library"), typedProp("overlay?", "boolean", ""),
		listProp("findings?", "Errors first.", object(
			typedProp("line", "integer", ""), typedProp("column", "integer", ""), enumProp("severity", "", "error", "warning"),
			typedProp("code", "string", ""), typedProp("message", "string", ""), typedProp("fix?", "string", ""), typedProp("instead?", "string", "The line as it would be right."),
		)),
		{"configurable_params?", &schema{Type: "array", Items: &schema{Type: "object"}, Description: "Inputs, as in list_indicators."}},
		listProp("lines?", "", &schema{Type: "string"}),
		{"signals?", &schema{Type: "object", Description: "Meaning of each signal."}},
		typedProp("requests?", "integer", "Calls of request.security."), typedProp("warmup_bars?", "integer", ""),
	}, conversionProps()...)...)
}
