package tool

// The output schemas of the chart tools. Those of the trading tools stand with
// the types they describe.

func catalogSchema() *schema {
	param := object("",
		is("name", "string", ""),
		oneOf("type", "", "integer", "number", "string", "boolean"),
		prop{"default", &schema{
			AnyOf:       []*schema{{Type: "number"}, {Type: "string"}, {Type: "boolean"}, {Type: "null"}},
			Description: "Null when unset by default.",
		}},
		is("min?", "number", ""), is("max?", "number", ""),
		list("enum?", "", &schema{Type: "string"}),
		is("description", "string", ""),
	)
	item := object("",
		is("name", "string", ""),
		is("description", "string", ""),
		oneOf("type", "external needs data beyond bars.", "overlay", "panel", "external"),
		is("overlay", "boolean", "Drawn over the price."),
		list("aliases?", "", &schema{Type: "string"}),
		list("configurable_params?", "", param),
		list("signals?", "", &schema{Type: "string"}),
		prop{"signal_descriptions?", &schema{Type: "object", AdditionalProperties: &schema{Type: "string"}}},
	)
	return object("", is("total", "integer", ""), list("indicators", "", item))
}

// computedSchema describes the result of get_indicators.
func computedSchema() *schema {
	return object("",
		is("symbol", "string", ""),
		is("interval", "string", ""),
		oneOf("source", "engine_cache: the engine's window.", "engine_cache", "fetched", "sample"),
		is("provider", "string", "Who gave the bars."),
		prop{"as_of", &schema{AnyOf: []*schema{{Type: "string", Format: "date-time"}, {Type: "null"}}, Description: "When the newest bar was read."}},
		is("last_bar_closed", "boolean", "False: its values may change."),
		is("stale", "boolean", "The provider did not answer; older bars stand in."),
		is("warmup_ok", "boolean", "False: the history is too short for values to settle."),
		is("built_from?", "string", "Interval these bars were made of, if not the provider's own."),
		is("calendar?", "string", "When it trades."),
		is("calendar_guessed?", "boolean", "From the file's bars."),
		is("holes?", "integer", "Bars missing, holidays apart."),
		is("bars", "integer", "Bars used; signals count from the oldest."),
		prop{"indicators", &schema{Type: "object", AdditionalProperties: summarySchema()}},
	)
}

// summarySchema describes what a summary says of one indicator.
func summarySchema() *schema {
	maybe := &schema{AnyOf: []*schema{{Type: "number"}, {Type: "null"}}}
	when := &schema{AnyOf: []*schema{{Type: "integer"}, {Type: "null"}}} // every other time is of the same sort as the first
	first := &schema{AnyOf: when.AnyOf, Description: "Unix seconds; null for sample data."}
	value := object("", is("index", "integer", ""), is("label", "string", ""), prop{"last_value", maybe})
	return object("",
		is("label", "string", ""),
		is("is_overlay", "boolean", ""),
		is("anchored_at?", "string", "Bar at which a sum such as OBV begins."),
		prop{"y_range?", &schema{Type: "array", Items: &schema{Type: "number"}, MinItems: 2, MaxItems: 2}},
		list("lines?", "", value),
		list("histogram?", "", value),
		list("signals?", "Newest last.", object("",
			is("x", "integer", "Bar it is drawn at, counted from the oldest."), prop{"t", first},
			is("confirmed_x", "integer", "Bar whose close made it known; later than x for divergences."), prop{"confirmed_t", when},
			is("y", "number", ""), is("label", "string", ""))),
		list("hlines?", "Levels.", object("", is("y", "number", ""), is("label?", "string", ""))),
		list("divergences?", "", object("",
			is("x1", "integer", ""), prop{"t1", when}, is("y1", "number", ""),
			is("x2", "integer", ""), prop{"t2", when}, is("y2", "number", ""), is("dashed", "boolean", ""))),
		is("fills_count?", "integer", ""),
		list("hbars_top?", "The widest bars of a profile.", object("", is("y", "number", "Price."), is("weight", "number", "Fraction of the width."))),
		is("hbars_count?", "integer", ""),
		is("signals_count?", "integer", "Older ones included."),
		is("truncated?", "boolean", "Older signals or levels were left out."),
	)
}
