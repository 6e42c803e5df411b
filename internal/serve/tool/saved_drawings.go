package tool

import (
	"context"
	"time"

	"candela/internal/kit/principal"
	"candela/internal/serve/mcp"
	"candela/internal/work/charting"
	"candela/internal/work/drawings"
	"candela/lib/fault"
	"candela/lib/market"
)

// savedDrawing is a drawing that is kept, as tools give it.
type savedDrawing struct {
	ID      string `json:"drawing_id"`
	Symbol  string `json:"symbol"`
	Type    string `json:"type"`
	Time    string `json:"time,omitempty"`
	Price   string `json:"price"`
	Time2   string `json:"time2,omitempty"`
	Price2  string `json:"price2,omitempty"`
	Text    string `json:"text,omitempty"`
	By      string `json:"by,omitempty"`
	Changed string `json:"changed_at"`
}

func toSavedDrawing(s market.Symbol, d *drawings.Drawing) savedDrawing {
	is := savedDrawing{ID: d.ID, Symbol: s.String(), Type: d.Type, Price: d.Price.String(), Text: d.Text, By: d.By, Changed: d.Changed.Format(time.RFC3339)}
	if d.Time != 0 {
		is.Time = market.Stamp(d.Time)
	}
	if d.Time2 != 0 {
		is.Time2, is.Price2 = market.Stamp(d.Time2), d.Price2.String()
	}
	return is
}

// drawingTools are the tools of the set drawings.
func (t *Trading) drawingTools() []toolSpec {
	return []toolSpec{t.listDrawings(), t.setDrawing(), t.deleteDrawing()}
}

func (t *Trading) listDrawings() toolSpec {
	arguments := func() (*market.Symbol, args) {
		s := new(market.Symbol)
		return s, args{symbolArg(s, "Only this one.")}
	}
	return toolSpec{
		name: "list_drawings", title: "List drawings", trading: true, scope: principal.Read, set: DrawingsSet,
		description: "List what the owner and agents have drawn on charts and what stays there, oldest first. generate_chart draws them with saved_drawings. 0.2 KB each.",
		hints:       hints{readOnly: true, idempotent: true},
		call: calling(arguments, func(ctx context.Context, caller principal.Caller, symbol *market.Symbol) (mcp.Result, error) {
			listed, err := t.Drawings.List(ctx, caller, *symbol)
			answer := struct {
				Drawings []savedDrawing `json:"drawings"`
				More     int            `json:"more,omitempty"`
			}{Drawings: []savedDrawing{}}
			for _, of := range listed {
				for i := range of.Drawings {
					if len(answer.Drawings) == maxItems {
						answer.More++
						continue
					}
					answer.Drawings = append(answer.Drawings, toSavedDrawing(of.Symbol, &of.Drawings[i]))
				}
			}
			return jsonResult(answer, err)
		}),
	}
}

// setDrawingArgs holds the arguments of set_drawing.
type setDrawingArgs struct {
	drawings.Drawing
	symbol      market.Symbol
	time, time2 charting.DrawnTime
	given       bool // price2
}

func declareSetDrawing() (*setDrawingArgs, args) {
	a := new(setDrawingArgs)
	var price bool
	return a, args{
		symbolArg(&a.symbol, "Such as BTCUSDT.").require(),
		enumArg("type", &a.Type, "level has price; text has time, price, text; the others have two points. measure says how far the second is from the first.", drawings.Names()...).require(),
		drawnTimeArg("time", &a.time).describe("A date or RFC 3339 time, UTC."),
		priceArg("price", &a.Price, &price, "").require(),
		drawnTimeArg("time2", &a.time2),
		priceArg("price2", &a.Price2, &a.given, ""),
		noteArg("text", &a.Text, drawings.MostText, "A label."),
		stringArg("drawing_id", &a.ID, 64, "Of one to change; else it is new."),
	}
}

func (t *Trading) setDrawing() toolSpec {
	return toolSpec{
		name: "set_drawing", title: "Draw on the owner's chart", trading: true, scope: principal.Trade, set: DrawingsSet,
		description: "Draw on the owner's chart of a symbol, or change what is drawn there. It stays until somebody removes it, and the owner sees who drew it. It sets no alert and no order. 0.3 KB.",
		hints:       hints{destructive: true},
		call: calling(declareSetDrawing, func(ctx context.Context, caller principal.Caller, a *setDrawingArgs) (mcp.Result, error) {
			if a.time.Bar != 0 || a.time2.Bar != 0 {
				return mcp.Result{}, fault.Field("time", a.time.String(), charting.MomentAllowed)
			}
			a.Time, a.Time2 = a.time.Unix, a.time2.Unix
			d, symbol, err := t.Drawings.Set(ctx, caller, a.symbol, a.Drawing)
			if err != nil {
				return mcp.Result{}, err
			}
			return jsonResult(toSavedDrawing(symbol, &d), nil)
		}),
	}
}

func (t *Trading) deleteDrawing() toolSpec {
	type which struct {
		symbol market.Symbol
		id     string
	}
	arguments := func() (*which, args) {
		a := new(which)
		return a, args{symbolArg(&a.symbol, "Such as BTCUSDT.").require(), stringArg("drawing_id", &a.id, 64, "From list_drawings.").require()}
	}
	return toolSpec{
		name: "delete_drawing", title: "Remove a drawing", trading: true, scope: principal.Trade, set: DrawingsSet,
		description: "Remove a drawing from the owner's chart. Remove one that somebody else drew only if the user asks for it. 0.3 KB.",
		hints:       hints{destructive: true},
		call: calling(arguments, func(ctx context.Context, caller principal.Caller, a *which) (mcp.Result, error) {
			d, symbol, err := t.Drawings.Delete(ctx, caller, a.symbol, a.id)
			if err != nil {
				return mcp.Result{}, err
			}
			return jsonResult(toSavedDrawing(symbol, &d), nil)
		}),
	}
}
