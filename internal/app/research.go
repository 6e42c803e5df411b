package app

import (
	"context"
	"encoding/json"
	"fmt"

	"candela/internal/config"
	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/serve/tool"
	"candela/internal/work/charting"
	"candela/internal/work/research/report"
	"candela/lib/chart"
	"candela/lib/fault"
)

// Research is the answer of a research tool to a command.
type Research struct {
	JSON   []byte // byte for byte as a client of the tool gets it
	Report *report.Report
	draw   charting.Renderer
}

// RunResearch calls a tool of the set research for a command. progress may be nil.
func RunResearch(ctx context.Context, cfg *config.Config, deps Deps, name string, arguments any, progress func(done, total int, message string)) (*Research, error) {
	rt := Runtime{Deps: deps, Config: cfg, Log: cfg.Log.Logger(deps.Stderr)}
	if cfg.Home != "" {
		rt.shelf = openScripts(cfg)
	}
	if rt.Draw == nil || len(rt.Venues) == 0 {
		return nil, absent(config.ModeChart)
	}
	text, err := json.Marshal(arguments)
	if err != nil {
		return nil, fmt.Errorf("write the arguments: %w", err)
	}
	bars, err := rt.openBars()
	if err != nil {
		return nil, err
	}
	defer bars.close()
	with := tool.Config{Charting: charting.New(charting.Config{Bars: bars, Renderer: rt.Draw, Log: rt.Log}), Symbols: bars, Toolsets: []string{tool.ResearchSet}, Log: rt.Log, Library: rt.library(), Version: rt.release()}
	if rt.shelf != nil {
		with.Scripts = rt.shelf
	}
	registry, err := tool.New(with)
	if err != nil {
		return nil, err
	}
	if progress != nil {
		ctx = mcp.WithProgress(ctx, progress)
	}
	caller := principal.Caller{Subject: "owner", Key: "local", Scope: principal.Charts}
	defer registry.Close()
	result, err := registry.Call(tool.Patient(ctx), caller, name, text)
	if err != nil {
		return nil, err
	}
	var about struct {
		ReportID string `json:"report_id"`
		Code     string `json:"code"`
		Message  string `json:"message"`
	}
	if err := json.Unmarshal(result.Content[0].Text, &about); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if result.IsError {
		return nil, fault.New(result.Kind, about.Code, "%s", about.Message)
	}
	found, ok := registry.Report(caller, about.ReportID)
	if !ok {
		return nil, fmt.Errorf("no report %s", about.ReportID)
	}
	return &Research{result.Structured, found, rt.Draw}, nil
}

// PNG draws the report. A report without a picture is an error.
func (r *Research) PNG(theme string) ([]byte, error) {
	chosen, err := chart.ParseTheme(theme)
	if err != nil {
		return nil, err
	}
	if r.Report.Curve == nil {
		return nil, fault.Field("output", "a picture", "it with candela backtest: only a back-test has a picture")
	}
	return r.draw.PNG(r.Report.Curve.Picture(chosen, report.Width, report.Height, 1))
}
