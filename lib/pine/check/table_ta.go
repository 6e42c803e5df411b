package check

// taTable has technical analysis.
const taTable = `
ta.alma(float series, int length, simple float offset, simple float sigma, simple bool floor = false) series float
ta.atr(simple int length) series float | memory=36
ta.barssince(bool condition) series int | memory=all
ta.bb(float series, int length, simple float mult) series [float, float, float]
ta.bbw(float series, int length, simple float mult) series float
ta.cci(float source, int length) series float
ta.change(int source, int length = 1) series int | form=int
ta.change(float source, int length = 1) series float
ta.change(bool source, int length = 1) series bool | form=bool
ta.cmo(float series, int length) series float
ta.cog(float source, int length) series float
ta.correlation(float source1, float source2, int length) series float
ta.cross(float source1, float source2) series bool
ta.crossover(float source1, float source2) series bool
ta.crossunder(float source1, float source2) series bool
ta.cum(float source) series float | memory=all
ta.dev(float source, int length) series float
ta.dmi(simple int diLength, simple int adxSmoothing) series [float, float, float] | memory=36
ta.ema(float source, simple int length) series float | memory=17
ta.falling(float source, int length) series bool
ta.highest(float source, int length) series float
ta.highest(int length) series float | prepend=high
ta.highestbars(float source, int length) series int
ta.highestbars(int length) series int | prepend=high
ta.hma(float source, simple int length) series float
ta.kc(float series, simple int length, simple float mult, simple bool useTrueRange = true) series [float, float, float] | memory=17
ta.kcw(float series, simple int length, simple float mult, simple bool useTrueRange = true) series float | memory=17
ta.linreg(float source, int length, simple int offset) series float
ta.lowest(float source, int length) series float
ta.lowest(int length) series float | prepend=low
ta.lowestbars(float source, int length) series int
ta.lowestbars(int length) series int | prepend=low
ta.macd(float source, simple int fastlen, simple int slowlen, simple int siglen) series [float, float, float] | memory=34
ta.max(float source) series float | memory=all
ta.median(float source, int length) series float
ta.mfi(float series, int length) series float
ta.min(float source) series float | memory=all
ta.mode(float source, int length) series float
ta.mom(float source, int length) series float
ta.percentile_linear_interpolation(float source, int length, simple float percentage) series float
ta.percentile_nearest_rank(float source, int length, simple float percentage) series float
ta.percentrank(float source, int length) series float
ta.pivot_point_levels(string type, bool anchor, bool developing = false) series array<float>
ta.pivothigh(float source, int leftbars, int rightbars) series float
ta.pivothigh(int leftbars, int rightbars) series float | prepend=high
ta.pivotlow(float source, int leftbars, int rightbars) series float
ta.pivotlow(int leftbars, int rightbars) series float | prepend=low
ta.range(float source, int length) series float
ta.rci(float source, simple int length) series float
ta.rising(float source, int length) series bool
ta.rma(float source, simple int length) series float | memory=36
ta.roc(float source, int length) series float
ta.rsi(float source, simple int length) series float | memory=36
ta.sar(simple float start, simple float inc, simple float max) series float | memory=all
ta.sma(float source, int length) series float
ta.stdev(float source, int length, bool biased = true) series float
ta.stoch(float source, float high, float low, int length) series float
ta.supertrend(float factor, simple int atrPeriod) series [float, float] | memory=36
ta.swma(float source) series float
ta.tr(simple bool handle_na = false) series float
ta.tsi(float source, simple int short_length, simple int long_length) series float | memory=34
ta.valuewhen(bool condition, T source, simple int occurrence) series T | memory=all
ta.variance(float source, int length, bool biased = true) series float
ta.vwap(float source) series float | memory=all
ta.vwap(float source, bool anchor) series float | form=anchor memory=all
ta.vwap(float source, bool anchor, simple float stdev_mult) series [float, float, float] | form=bands memory=all
ta.vwma(float source, int length) series float
ta.wma(float source, int length) series float
ta.wpr(int length) series float
`

// strategyTable has the functions of strategies.
const strategyTable = `
strategy(const string title, const string shorttitle = "", const bool overlay = false, const string? format, const int? precision, const scale? scale, const int pyramiding = 0, const bool calc_on_order_fills = false, const bool calc_on_every_tick = false, const int max_bars_back = 0, const int backtest_fill_limits_assumption = 0, const string default_qty_type = strategy.fixed, const float default_qty_value = 1, const float initial_capital = 1000000, const string currency = currency.NONE, const int slippage = 0, const string commission_type = strategy.commission.percent, const float commission_value = 0, const bool process_orders_on_close = false, const string close_entries_rule = "FIFO", const float? margin_long, const float? margin_short, const bool explicit_plot_zorder = false, const int max_lines_count = 50, const int max_labels_count = 50, const int max_boxes_count = 50, const int calc_bars_count = 0, const float risk_free_rate = 2, const bool use_bar_magnifier = false, const bool fill_orders_on_standard_ohlc = false, const int max_polylines_count = 50, const bool dynamic_requests = true, const bool behind_chart = true, const bool calc_on_every_history_tick = false, v5 const bool? linktoseries) void | global
strategy.entry(string id, strategy_direction direction, float? qty, float? limit, float? stop, string oca_name = "", string oca_type = strategy.oca.none, string comment = "", string alert_message = "", bool disable_alert = false, v5 bool? when) void
strategy.order(string id, strategy_direction direction, float? qty, float? limit, float? stop, string oca_name = "", string oca_type = strategy.oca.none, string comment = "", string alert_message = "", bool disable_alert = false, v5 bool? when) void
strategy.exit(string id, string from_entry = "", float? qty, float? qty_percent, float? profit, float? limit, float? loss, float? stop, float? trail_price, float? trail_points, float? trail_offset, string oca_name = "", string comment = "", string comment_profit = "", string comment_loss = "", string comment_trailing = "", string alert_message = "", string alert_profit = "", string alert_loss = "", string alert_trailing = "", bool disable_alert = false, v5 bool? when) void
strategy.close(string id, string comment = "", float? qty, float? qty_percent, string alert_message = "", bool immediately = false, bool disable_alert = false, v5 bool? when) void
strategy.close_all(string comment = "", string alert_message = "", bool immediately = false, bool disable_alert = false, v5 bool? when) void
strategy.close(string id, bool when, string comment = "", float? qty, float? qty_percent, string alert_message = "") void | v5 form=when
strategy.close_all(bool when, string comment = "", string alert_message = "") void | v5 form=when
strategy.cancel(string id, v5 bool? when) void
strategy.cancel_all(v5 bool? when) void
strategy.convert_to_account(float value) series float
strategy.convert_to_symbol(float value) series float
strategy.default_entry_qty(float fill_price) series float | none
strategy.risk.allow_entry_in(simple string value) void
strategy.risk.max_cons_loss_days(simple int count, simple string alert_message = "") void
strategy.risk.max_drawdown(simple float value, simple string type, simple string alert_message = "") void
strategy.risk.max_intraday_filled_orders(simple int count, simple string alert_message = "") void
strategy.risk.max_intraday_loss(simple float value, simple string type, simple string alert_message = "") void
strategy.risk.max_position_size(simple float contracts) void
strategy.closedtrades.commission(int trade_num) series float
strategy.closedtrades.entry_bar_index(int trade_num) series int
strategy.closedtrades.entry_comment(int trade_num) series string
strategy.closedtrades.entry_id(int trade_num) series string
strategy.closedtrades.entry_price(int trade_num) series float
strategy.closedtrades.entry_time(int trade_num) series int
strategy.closedtrades.exit_bar_index(int trade_num) series int
strategy.closedtrades.exit_comment(int trade_num) series string
strategy.closedtrades.exit_id(int trade_num) series string
strategy.closedtrades.exit_price(int trade_num) series float
strategy.closedtrades.exit_time(int trade_num) series int
strategy.closedtrades.max_drawdown(int trade_num) series float
strategy.closedtrades.max_drawdown_percent(int trade_num) series float
strategy.closedtrades.max_runup(int trade_num) series float
strategy.closedtrades.max_runup_percent(int trade_num) series float
strategy.closedtrades.profit(int trade_num) series float
strategy.closedtrades.profit_percent(int trade_num) series float
strategy.closedtrades.size(int trade_num) series float
strategy.opentrades.commission(int trade_num) series float
strategy.opentrades.entry_bar_index(int trade_num) series int
strategy.opentrades.entry_comment(int trade_num) series string
strategy.opentrades.entry_id(int trade_num) series string
strategy.opentrades.entry_price(int trade_num) series float
strategy.opentrades.entry_time(int trade_num) series int
strategy.opentrades.max_drawdown(int trade_num) series float
strategy.opentrades.max_drawdown_percent(int trade_num) series float
strategy.opentrades.max_runup(int trade_num) series float
strategy.opentrades.max_runup_percent(int trade_num) series float
strategy.opentrades.profit(int trade_num) series float
strategy.opentrades.profit_percent(int trade_num) series float
strategy.opentrades.size(int trade_num) series float
`
