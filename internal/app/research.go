package app

import (
	"context"

	"candela/internal/config"
	"candela/internal/data/marketdata"
	"candela/internal/kit/principal"
	"candela/internal/work/charting"
	"candela/internal/work/research"
	"candela/lib/ta"
)

// Research is the answer to a question of a command.
type Research struct {
	*research.Answer
	draw charting.Renderer
}

// RunResearch answers the question that read returns for the indicators and scripts there are. progress may be nil.
func RunResearch(ctx context.Context, cfg *config.Config, deps Deps, read func(ta.Library) (research.Question, error), progress research.Progress) (*Research, error) {
	rt := Runtime{Deps: deps, Config: cfg, Log: cfg.Log.Logger(deps.Stderr)}
	if cfg.Home != "" {
		rt.shelf = openScripts(cfg)
	}
	if rt.Draw == nil || len(rt.Venues) == 0 {
		return nil, absent(config.ModeChart)
	}
	bars, err := rt.openBars()
	if err != nil {
		return nil, err
	}
	defer bars.close()
	with := research.Config{Charting: charting.New(charting.Config{Bars: bars, Renderer: rt.Draw, Log: rt.Log}), Library: rt.library(), Version: rt.release(), Rates: bars.Rates}
	if rt.shelf != nil {
		with.Scripts = rt.shelf
	}
	if progress != nil {
		ctx = research.WithProgress(ctx, progress)
	}
	ask, err := read(with.Library)
	var answer *research.Answer
	if err == nil {
		answer, err = ask(ctx, research.New(with), principal.Caller{Subject: "owner", Key: "local", Scope: principal.Charts})
	}
	if err != nil {
		return nil, marketdata.Explain(ctx, bars, err)
	}
	return &Research{answer, rt.Draw}, nil
}

// PNG draws the report. A report without a picture is an error.
func (r *Research) PNG(theme string) ([]byte, error) {
	spec, err := r.Report.PictureIn(theme)
	if err != nil {
		return nil, err
	}
	return r.draw.PNG(spec)
}
