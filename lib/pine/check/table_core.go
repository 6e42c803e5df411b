package check

// Each line of a table is one signature:
//
//	name(type parameter, type parameter = default, type? parameter, type... rest) result | flags
//
// A qualifier before a type (const, input, simple) is the weakest that the parameter
// takes, series without one. "type?" may be left out. A result takes the weakest qualifier
// of the arguments unless "series" or "simple" stands before it. Type variables: T, K, V
// any type; N and M a number, W the wider of the two. Flags: global; form=NAME (of "when": the order of the parameters before they were moved); prepend=NAME (the overload leaves out the
// first parameter of the form before it, which is then that variable); v5 and v6 (only in
// that version); none (accepted without effect); refused REASON; memory=N (a value depends on so
// many times as many bars as the lengths of the call say, "all" on every bar before; 1 without it).

// coreTable has general functions, mathematics, strings, colours, inputs and time.
const coreTable = `
na(any x) bool
nz(T source, T? replacement) T
fixnan(T source) series T
int(num x) int
float(num x) float
bool(any x) bool
string(string x) string
color(color x) color
line(line x) series line
label(label x) series label
box(box x) series box
table(table x) series table
linefill(linefill x) series linefill
polyline(polyline x) series polyline
max_bars_back(any var, const int num) void | none
timestamp(string dateString) int | form=text
timestamp(int year, int month, int day, int hour = 0, int minute = 0, int second = 0) int
timestamp(string timezone, int year, int month, int day, int hour = 0, int minute = 0, int second = 0) int | form=zone
time(string timeframe, string? session, string? timezone, int? bars_back, int? timeframe_bars_back) series int
time(string timeframe, int bars_back, int? timeframe_bars_back) series int | form=back
time(string timeframe, string session, int bars_back, int? timeframe_bars_back) series int | form=session_back
time_close(string timeframe, string? session, string? timezone, int? bars_back, int? timeframe_bars_back) series int
time_close(string timeframe, int bars_back, int? timeframe_bars_back) series int | form=back
year(int time, string? timezone) int
month(int time, string? timezone) int
weekofyear(int time, string? timezone) int
dayofmonth(int time, string? timezone) int
dayofweek(int time, string? timezone) int
hour(int time, string? timezone) int
minute(int time, string? timezone) int
second(int time, string? timezone) int
timeframe.change(string? timeframe) series bool
timeframe.in_seconds(string? timeframe) int
timeframe.from_seconds(int seconds) string
runtime.error(string message) void
log.info(string message, any... arg) void
log.warning(string message, any... arg) void
log.error(string message, any... arg) void
alert(string message, string freq = alert.freq_once_per_bar) void
alertcondition(bool condition, const string title = "", const string message = "") void | global
math.abs(N number) N
math.acos(float angle) float
math.asin(float angle) float
math.atan(float angle) float
math.avg(float... number) float
math.ceil(num number) int
math.cos(float angle) float
math.exp(float number) float
math.floor(num number) int
math.log(float number) float
math.log10(float number) float
math.max(N... number) N
math.min(N... number) N
math.pow(float base, float exponent) float
math.random(float min = 0, float max = 1, int? seed) series float
math.round(num number) int
math.round(float number, int precision) float | form=precision
math.round_to_mintick(float number) series float
math.sign(num number) float
math.sin(float angle) float
math.sqrt(float number) float
math.sum(float source, int length) series float
math.tan(float angle) float
math.todegrees(float radians) float
math.toradians(float degrees) float
str.contains(string source, string str) bool
str.endswith(string source, string str) bool
str.startswith(string source, string str) bool
str.format(string formatString, any... arg0) string
str.format_time(int time, string format = "yyyy-MM-dd'T'HH:mm:ssZ", string? timezone) string
str.length(string string) int
str.lower(string source) string
str.upper(string source) string
str.match(string source, string regex) string
str.pos(string source, string str) int
str.repeat(string source, int repeat, string separator = "") string
str.replace(string source, string target, string replacement, int occurrence = 0) string
str.replace_all(string source, string target, string replacement) string
str.split(string string, string separator) series array<string>
str.substring(string source, int begin_pos, int? end_pos) string
str.tonumber(string string) float
str.tostring(any value, string format = "#.##########") string
str.trim(string source) string
color.new(color color, num transp) color
color.rgb(num red, num green, num blue, num transp = 0) color
color.from_gradient(float value, float bottom_value, float top_value, color bottom_color, color top_color) series color
color.r(color color) float
color.g(color color) float
color.b(color color) float
color.t(color color) float
input(any defval, const string title = "", const string tooltip = "", const string inline = "", const string group = "", const num? minval, const num? maxval, const bool? confirm, const num? step, const any? options, const any? type, const display display = display.all, input bool active = true) input any
input.int(const int defval, const string title = "", const int? minval, const int? maxval, const int? step, const string tooltip = "", const string inline = "", const string group = "", const bool confirm = false, const display display = display.all, input bool active = true) input int
input.int(const int defval, const string title = "", const any options, const string tooltip = "", const string inline = "", const string group = "", const bool confirm = false, const display display = display.all, const bool active = true) input int | form=options
input.float(const float defval, const string title = "", const float? minval, const float? maxval, const float? step, const string tooltip = "", const string inline = "", const string group = "", const bool confirm = false, const display display = display.all, input bool active = true) input float
input.float(const float defval, const string title = "", const any options, const string tooltip = "", const string inline = "", const string group = "", const bool confirm = false, const display display = display.all, const bool active = true) input float | form=options
input.bool(const bool defval, const string title = "", const string tooltip = "", const string inline = "", const string group = "", const bool confirm = false, const display display = display.all, input bool active = true) input bool
input.string(const string defval, const string title = "", const any? options, const string tooltip = "", const string inline = "", const string group = "", const bool confirm = false, const display display = display.all, input bool active = true) input string
input.text_area(const string defval, const string title = "", const string tooltip = "", const string group = "", const bool confirm = false, const display display = display.all, input bool active = true) input string
input.symbol(const string defval, const string title = "", const string tooltip = "", const string inline = "", const string group = "", const bool confirm = false, const display display = display.all, input bool active = true) input string
input.timeframe(const string defval, const string title = "", const any? options, const string tooltip = "", const string inline = "", const string group = "", const bool confirm = false, const display display = display.all, input bool active = true) input string
input.session(const string defval, const string title = "", const any? options, const string tooltip = "", const string inline = "", const string group = "", const bool confirm = false, const display display = display.all, input bool active = true) input string
input.source(float defval, const string title = "", const string tooltip = "", const string inline = "", const string group = "", const bool confirm = false, const display display = display.all, input bool active = true) series float
input.time(const int defval, const string title = "", const string tooltip = "", const string inline = "", const string group = "", const bool confirm = false, const display display = display.all, input bool active = true) input int
input.price(const float defval, const string title = "", const string tooltip = "", const string inline = "", const string group = "", const bool confirm = false, const display display = display.all, input bool active = true) input float
input.color(const color defval, const string title = "", const string tooltip = "", const string inline = "", const string group = "", const bool confirm = false, const display display = display.all, input bool active = true) input color
input.enum(any defval, const string title = "", const any? options, const string tooltip = "", const string inline = "", const string group = "", const bool confirm = false, const display display = display.all, input bool active = true) input any
indicator(const string title, const string shorttitle = "", const bool overlay = false, const string? format, const int? precision, const scale? scale, const int? max_bars_back, const string timeframe = "", const bool timeframe_gaps = true, const bool explicit_plot_zorder = false, const int max_lines_count = 50, const int max_labels_count = 50, const int max_boxes_count = 50, const int calc_bars_count = 0, const int max_polylines_count = 50, const bool dynamic_requests = true, const bool behind_chart = true, v5 const bool? linktoseries) void | global
library(const string title, const bool overlay = false, const bool dynamic_requests = true) void | global
request.security(string symbol, string timeframe, T expression, simple barmerge_gaps gaps = barmerge.gaps_off, simple barmerge_lookahead lookahead = barmerge.lookahead_off, simple bool ignore_invalid_symbol = false, simple string currency = currency.NONE, simple int? calc_bars_count) series T
request.security_lower_tf(string symbol, string timeframe, T expression, simple bool ignore_invalid_symbol = false, simple string currency = currency.NONE, simple bool ignore_invalid_timeframe = false, simple int? calc_bars_count) series array<T>
request.dividends(string ticker, any... rest) series float | refused candela has no dividends
request.splits(string ticker, any... rest) series float | refused candela has no splits
request.earnings(string ticker, any... rest) series float | refused candela has no earnings
request.financial(string symbol, any... rest) series float | refused candela has no financial reports
request.economic(string country_code, any... rest) series float | refused candela has no economic data
request.quandl(string ticker, any... rest) series float | refused the service has ended
request.seed(string source, any... rest) series float | refused candela has no seeds
request.footprint(any... rest) series float | refused candela has no volume by price inside a bar
request.currency_rate(string from, any... rest) series float | refused candela has no currency rates
ticker.new(string prefix, string ticker, string? session, simple string? adjustment, simple string? settlement_as_close, simple string? backadjustment) string
ticker.modify(string tickerid, string? session, simple string? adjustment, simple string? settlement_as_close, simple string? backadjustment) string
ticker.standard(string? symbol) string
ticker.inherit(string from_tickerid, string symbol) string
ticker.heikinashi(string symbol) string
ticker.renko(any... rest) simple string | refused candela has no Renko bars
ticker.linebreak(any... rest) simple string | refused candela has no line break bars
ticker.kagi(any... rest) simple string | refused candela has no Kagi bars
ticker.pointfigure(any... rest) simple string | refused candela has no point and figure bars
syminfo.prefix(string symbol) string
syminfo.ticker(string symbol) string
`

// plotTable has what a script shows of the global scope.
const plotTable = `
plot(float series, const string title = "", color color = color.blue, input int linewidth = 1, input plot_style style = plot.style_line, input bool trackprice = false, input float histbase = 0, int offset = 0, input bool join = false, input bool editable = true, input int? show_last, display display = display.all, const string? format, const int? precision, const bool force_overlay = false, const string linestyle = plot.linestyle_solid, v5 int? transp) plot | global
plotshape(any series, const string title = "", input string style = shape.xcross, input string location = location.abovebar, color? color, int offset = 0, const string text = "", color? textcolor, input bool editable = true, input string size = size.auto, input int? show_last, display display = display.all, const string? format, const int? precision, const bool force_overlay = false, v5 int? transp) void | global
plotchar(any series, const string title = "", const string char = "★", input string location = location.abovebar, color? color, int offset = 0, const string text = "", color? textcolor, input bool editable = true, input string size = size.auto, input int? show_last, display display = display.all, const string? format, const int? precision, const bool force_overlay = false, v5 int? transp) void | global
plotarrow(float series, const string title = "", color colorup = color.teal, color colordown = color.red, int offset = 0, input int minheight = 5, input int maxheight = 100, input bool editable = true, input int? show_last, display display = display.all, const string? format, const int? precision, const bool force_overlay = false, v5 int? transp) void | global
plotcandle(float open, float high, float low, float close, const string title = "", color? color, color? wickcolor, input bool editable = true, input int? show_last, color? bordercolor, display display = display.all, const string? format, const int? precision, const bool force_overlay = false) void | global
plotbar(float open, float high, float low, float close, const string title = "", color? color, input bool editable = true, input int? show_last, display display = display.all, const string? format, const int? precision, const bool force_overlay = false) void | global
hline(input float price, const string title = "", input color? color, input hline_style linestyle = hline.style_dashed, input int linewidth = 1, input bool editable = true, display display = display.all) hline | global
fill(hline hline1, hline hline2, color? color, const string title = "", input bool editable = true, input bool fillgaps = false, display display = display.all, v5 int? transp) void | global form=hline
fill(hline hline1, hline hline2, float top_value, float bottom_value, color top_color, color bottom_color, const string title = "", display display = display.all, input bool fillgaps = false, input bool editable = true) void | global form=gradient
fill(plot plot1, plot plot2, color? color, const string title = "", input bool editable = true, input int? show_last, input bool fillgaps = false, display display = display.all, v5 int? transp) void | global
fill(plot plot1, plot plot2, float top_value, float bottom_value, color top_color, color bottom_color, const string title = "", display display = display.all, input bool fillgaps = false, input bool editable = true) void | global form=gradient
bgcolor(color color, int offset = 0, input bool editable = true, input int? show_last, const string title = "", display display = display.all, const bool force_overlay = false, v5 int? transp) void | global
barcolor(color color, int offset = 0, input bool editable = true, input int? show_last, const string title = "", display display = display.all) void | global
`
