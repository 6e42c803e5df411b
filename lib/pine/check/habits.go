package check

import (
	"regexp"
	"strings"
	"sync"
)

// habits returns the compiled table.
//
//nolint:gochecknoglobals // compiled once, never written
var habits = sync.OnceValue(func() []habit {
	var all []habit
	for line := range strings.Lines(habitTable) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		part := strings.Split(line, " ~ ")
		h := habit{pattern: regexp.MustCompile(part[0]), with: strings.ReplaceAll(part[1], `\n`, "\n"), words: part[2]}
		if len(part) > 3 {
			h.of = part[3]
		}
		all = append(all, h)
	}
	return all
})

// habitTable has, on each line: what is written (a regular expression), what to write, what to say and,
// where it explains one kind of error only, the code of the error. The first that fits counts.
const habitTable = `
^(\s*)/\*+\s?(.*?)\s*\*/\s*$ ~ $1// $2 ~ There are no block comments; begin each line with //.
^(\s*)(?:/\*+|\*/)\s?(.*)$ ~ $1// $2 ~ There are no block comments; begin each line with //. ~ pine_syntax
^(\s*)\* (.*)$ ~ $1// $2 ~ There are no block comments; begin each line with //. ~ pine_syntax
/\*+\s?(.*?)\s*\*/\s*$ ~ // $1 ~ There are no block comments; use //.
^(\s*)# (.*)$ ~ $1// $2 ~ A comment begins with //, as in C; # begins a colour.
^(\s*)-- (.*)$ ~ $1// $2 ~ A comment begins with //. ~ pine_syntax
[“”] ~ " ~ Write a straight quote.
[‘’] ~ ' ~ Write a straight quote.
[–—−] ~ - ~ Write a plain minus.
\s≥\s ~ ${x} >=  ~ Write >=.
\s≤\s ~ ${x} <=  ~ Write <=.
\s≠\s ~ ${x} !=  ~ Write !=.
\x60([^\x60$]*)\$\{([^}\x60]+)\}([^\x60$]*)\x60 ~ str.format("$1{0}$3", $2) ~ Write str.format; there are no strings with values inside.
\x60([^\x60]*)\x60 ~ "$1" ~ Write a text in straight quotes.
^(\s*)(?:indicator|strategy|library|study)\(.*\)\s*$ ~ $1// ~ Remove it; a script is declared once. ~ declared twice
\b(?:Math|np|numpy)\.(\w+)\( ~ math.$1( ~ Mathematics is in math.
\b(?:math\.|ta\.)?(?:isnan|isNaN|is_na|isna|isnull)\( ~ na( ~ Write na(x) to ask for a missing value.
([\w.]+(?:\[\d+\])?)\s+is\s+not\s+(?:na|None|null)\b ~ not na($1) ~ Write not na(x).
([\w.]+(?:\[\d+\])?)\s+is\s+(?:na|None|null)\b ~ na($1) ~ Write na(x).
\s~=\s ~ ${x} !=  ~ Write != to compare.
("[^"]*"|'[^']*')\s&\s ~ $1 +  ~ Texts are joined with +.
\s&\s ~ ${x} and  ~ Write "and", as in Python; there is no &.
\s\|\s ~ ${x} or  ~ Write "or", as in Python; there is no |.
\bAnd\b ~ and ~ Write "and" in lower case. ~ Unexpected "And"
\bOr\b ~ or ~ Write "or" in lower case. ~ Unexpected "Or"
\bNot\b ~ not ~ Write "not" in lower case. ~ "Not"
([\w.]+)\s*(<=?)\s*([\w.]+)\s*(<=?)\s*([\w.]+) ~ $1 $2 $3 and $3 $4 $5 ~ Compare twice: a < b and b < c. ~ pine_type
([\w.]+)\s*(>=?)\s*([\w.]+)\s*(>=?)\s*([\w.]+) ~ $1 $2 $3 and $3 $4 $5 ~ Compare twice: a < b and b < c. ~ pine_type
\b(\d+(?:\.\d+)?)%(\s*)([,)]|$) ~ $1 / 100$2$3 ~ Write the percentage as a fraction: 5 / 100. ~ pine_syntax
\b(\d{1,3})_(\d{3})\b ~ $1$2 ~ Write digits without _. ~ pine_syntax
\bstr\( ~ str.tostring( ~ Write str.tostring. ~ Unknown function "str"
\b(?:int|float)\((["'][^"']*["'])\) ~ str.tonumber($1) ~ Numbers are read from texts with str.tonumber.
\b([A-Za-z_]\w*)\.(?:toString|to_string|tostring)\(\s*\) ~ str.tostring($1) ~ Write str.tostring(x). ~ has no method
\b([A-Za-z_]\w*)\.toFixed\((\d+)\) ~ str.tostring(math.round($1, $2)) ~ Write str.tostring(math.round(x, digits)).
\b(open|high|low|close|volume|hl2|hlc3|ohlc4)\.(round|abs|floor|ceil|sqrt|log|exp|sign)\(\s*\) ~ math.$2($1) ~ Mathematics is in math.
\b(open|high|low|close|volume|hl2|hlc3|ohlc4)\.(round|pow|max|min)\(([^()]+)\) ~ math.$2($1, $3) ~ Mathematics is in math.
^(\s*)((?:var\s+|varip\s+)?(?:array<\w+>\s+|\w+\[\]\s+)?\w+)\s*=\s*\[([^\[\]]*)\]\s*$ ~ $1$2 = array.from($3) ~ Arrays are made with array.from.
\b(\w+)\[(\w+)\] ~ array.get($1, $2) ~ Elements are read with array.get(a, i); [] reads earlier bars. ~ is array<
\bnew\s+Array\s*\(\s*\) ~ array.new<float>() ~ Arrays are made with array.new.
\bnew\s+([A-Z]\w*)\s*\( ~ $1.new( ~ Objects are made with P.new().
\.(?:add|append|push_back|pushback|insert_last)\( ~ .push( ~ Write push. ~ of type array
\barray\.at\( ~ array.get( ~ Write array.get.
\barray\.(?:push_back|pushback)\( ~ array.push( ~ Write array.push.
\barray\.(?:isEmpty|is_empty|empty)\(([^()]+)\) ~ (array.size($1) == 0) ~ Write array.size(a) == 0.
\bmap\.(?:set|add|insert)\( ~ map.put( ~ Write map.put.
\bmap\.(?:has|includes|contains_key|haskey|exists)\( ~ map.contains( ~ Write map.contains.
^(\s*)(\w+)\s*=\s*\{.*\}\s*$ ~ ${1}$2 = map.new<string, float>() ~ Maps are made with map.new<string, float>() and filled with map.put.
\bmatrix\.size\( ~ matrix.elements_count( ~ Write matrix.elements_count.
^(\s*)(?:class|struct|interface)\s+(\w+)\s*[:{]?\s*$ ~ ${1}type $2 ~ Types are declared with type.
^(\s*)(\w+\(\s*(?:\w+(?:\s*,\s*\w+)*)?\s*\))\s*=\s*([^=>].*)$ ~ $1$2 => $3 ~ A function is declared with =>. ~ cannot stand after this
^(\s*)(\w+(?:\.\w+)+)\s*=\s*([^=>].*)$ ~ $1$2 := $3 ~ Assign a field with :=. ~ cannot stand after this
\b(\w+)\s*:\s*(int|float|bool|string|color)(\s*[,)]) ~ $2 $1$3 ~ The type stands before the name: float x.
^(\s*)(?:int|float|bool|string|color|void|auto|static)\s+(\w+\([^()]*\)\s*=>.*)$ ~ $1$2 ~ A function has no type before its name.
^(\s*)\((\w+(?:\s*,\s*\w+)+)\)\s*=\s*(.*)$ ~ $1[$2] = $3 ~ Several values are declared in [ ].
^(\s*)(\w+(?:\s*,\s*\w+)+)\s*=\s*(\w[\w.]*\(.*)$ ~ $1[$2] = $3 ~ Several values are declared in [ ].
^(\s*)\[(\w+),\s*(\w+)\]\s*:=\s*(.*)$ ~ $1[${2}_new, ${3}_new] = $4\n$1$2 := ${2}_new\n$1$3 := ${3}_new ~ Declare new names for the values and assign them one by one.
^(\s*)\[(\w+),\s*(\w+),\s*(\w+)\]\s*:=\s*(.*)$ ~ $1[${2}_new, ${3}_new, ${4}_new] = $5\n$1$2 := ${2}_new\n$1$3 := ${3}_new\n$1$4 := ${4}_new ~ Declare new names for the values and assign them one by one.
^(\s*)(\w+)\s*=\s*ta\.(macd|bb|kc)\( ~ $1[$2, _, _] = ta.$3( ~ The function gives three values. ~ several values
^(\s*)(\w+)\s*=\s*ta\.supertrend\( ~ $1[$2, _] = ta.supertrend( ~ The function gives the line and its direction. ~ several values
^(\s*)(\w+)\s*=\s*ta\.dmi\( ~ $1[_, _, $2] = ta.dmi( ~ ADX is the third value of ta.dmi. ~ several values
^(\s*)(.*)\bta\.(macd|bb|kc|dmi)\(([^()]*)\)(?:\.\w+|\[0\])(.*)$ ~ $1[value1, _, _] = ta.$3($4)\n$1${2}value1$5 ~ Declare a name for each value first. ~ of type [
^(\s*)(.*)\bta\.(macd|bb|kc|dmi)\(([^()]*)\)\[1\](.*)$ ~ $1[_, value2, _] = ta.$3($4)\n$1${2}value2$5 ~ Declare a name for each value first. ~ of type [
^(\s*)(.*)\bta\.(macd|bb|kc|dmi)\(([^()]*)\)\[2\](.*)$ ~ $1[_, _, value3] = ta.$3($4)\n$1${2}value3$5 ~ Declare a name for each value first. ~ of type [
^(\s*)(.*)\bta\.supertrend\(([^()]*)\)\[0\](.*)$ ~ $1[value1, _] = ta.supertrend($3)\n$1${2}value1$4 ~ Declare a name for each value first. ~ of type [
^(\s*)(.*)\bta\.supertrend\(([^()]*)\)\[1\](.*)$ ~ $1[_, value2] = ta.supertrend($3)\n$1${2}value2$4 ~ Declare a name for each value first. ~ of type [
\bta\.(\w+)\((open|high|low|close|volume|hl2|hlc3|ohlc4)\) ~ ta.$1($2, 14) ~ Add the length. ~ needs the argument "length"
\bta\.(rsi|sma|ema|rma|wma|vwma|hma|mom|roc|stdev|cci|cmo|linreg)\((\w+)\) ~ ta.$1(close, $2) ~ The values come before the length. ~ needs the argument "length"
\bta\.atr\(\w+,\s*(\w+)\) ~ ta.atr($1) ~ ta.atr takes the length alone.
\bta\.(obv|accdist|iii|nvi|pvi|pvt|wad|wvad|vwap)\(\s*\) ~ ta.$1 ~ It is a variable.
^(\s*)\[(\w+),\s*(\w+)\]\s*=\s*ta\.donchian\(([^()]+)\) ~ $1$2 = ta.highest($4)\n$1$3 = ta.lowest($4) ~ The channel is ta.highest and ta.lowest.
^(\s*)\[(\w+),\s*(\w+),\s*(\w+)\]\s*=\s*ta\.donchian\(([^()]+)\) ~ $1$2 = ta.highest($5)\n$1$3 = ta.lowest($5)\n$1$4 = math.avg($2, $3) ~ The channel is ta.highest and ta.lowest.
\bta\.heikin_?ashi\((\w+)\) ~ request.security(ticker.heikinashi(syminfo.tickerid), timeframe.period, $1) ~ Heikin-Ashi bars are requested.
\bta\.dema\(([^,()]+),\s*([^,()]+)\) ~ (2 * ta.ema($1, $2) - ta.ema(ta.ema($1, $2), $2)) ~ The double average is made of ta.ema, or is dema of the library TradingView/ta.
\bta\.tema\(([^,()]+),\s*([^,()]+)\) ~ (3 * (ta.ema($1, $2) - ta.ema(ta.ema($1, $2), $2)) + ta.ema(ta.ema(ta.ema($1, $2), $2), $2)) ~ The triple average is made of ta.ema, or is tema of the library TradingView/ta.
\bta\.zlema\((\w+),\s*(\d+)\) ~ ta.ema(2 * $1 - $1[($2 - 1) / 2], $2) ~ The average without lag is ta.ema of the price and its change.
\bta\.lwma\( ~ ta.wma( ~ The linearly weighted average is ta.wma.
\bta\.(?:hhv|max)\( ~ ta.highest( ~ Write ta.highest. ~ Unknown function
\bta\.(?:llv|min)\( ~ ta.lowest( ~ Write ta.lowest. ~ Unknown function
\bta\.(?:ref|shift|lag|offset)\((\w+),\s*(\w+)\) ~ $1[$2] ~ The value of a bar before is close[1].
\b(?:ta|math)\.(nz|na|fixnan)\( ~ $1( ~ The function has no namespace.
([\w.]+)\s+(?:crosses|cross|crossed)\s+(?:above|over|up)\s+([\w.]+) ~ ta.crossover($1, $2) ~ Write ta.crossover.
([\w.]+)\s+(?:crosses|cross|crossed)\s+(?:below|under|down)\s+([\w.]+) ~ ta.crossunder($1, $2) ~ Write ta.crossunder.
\b(open|high|low|close|volume)\.(\d+)\b ~ $1[$2] ~ The value of a bar before is close[1].
\b(open|high|low|close|volume)\{(\d+)\} ~ $1[$2] ~ The value of a bar before is close[1].
\b(?:prev|previous|last)_?(open|high|low|close|volume)\b ~ $1[1] ~ The value of a bar before is close[1]. ~ Unknown name
\bhl\s*/\s*2\b ~ hl2 ~ Write hl2.
\bdefault\s*= ~ defval = ~ The value at first is defval. ~ has no parameter "default"
\bstyle_(label_)?(\w+) ~ label.style_$1$2 ~ Write label.style_label_up. ~ Unknown name "style_
\bsession\.(?:isopen|is_open|open)\b ~ session.ismarket ~ Write session.ismarket.
\bprice\b ~ close ~ The price of a bar is close. ~ Unknown name "price"
\bsource\b ~ close ~ The price of a bar is close. ~ Unknown name "source"
\btypical\b ~ hlc3 ~ The typical price is hlc3. ~ Unknown name "typical"
\bvol\b ~ volume ~ Write volume. ~ Unknown name "vol"
\blast_bar\b ~ last_bar_index ~ Write last_bar_index. ~ Unknown name "last_bar"
\binput\(([^()]*?),\s*type\s*=\s*input\.integer\b ~ input.int($1 ~ Inputs have a function for each type.
\binput\(([^()]*?),\s*type\s*=\s*input\.resolution\b ~ input.timeframe($1 ~ Inputs have a function for each type.
\binput\(([^()]*?),\s*type\s*=\s*input\.(float|bool|string|color|source|session|symbol|time|price)\b ~ input.$2($1 ~ Inputs have a function for each type.
\binput\.(?:ticker|sym)\( ~ input.symbol( ~ Write input.symbol.
\b(?:min|minValue|min_value|min_val)\s*= ~ minval = ~ The smallest value is minval. ~ has no parameter "min
\b(?:max|maxValue|max_value|max_val)\s*= ~ maxval = ~ The greatest value is maxval. ~ has no parameter "max
\b(?:name|label)\s*= ~ title = ~ The name is title. ~ plot has no parameter
\b(?:width|line_width|lineWidth)\s*= ~ linewidth = ~ The width is linewidth. ~ plot has no parameter
\bshape\s*= ~ style = ~ The shape is style. ~ plotshape has no parameter "shape"
,\s*(?:stop_loss|take_profit|stoploss|takeprofit|sl|tp|loss|profit)\s*=\s*[^,()]+ ~ ${x} ~ Exits are orders of their own: strategy.exit("X", "L", stop = price, limit = price). ~ strategy.entry has no parameter
,\s*qty_percent\s*=\s*[^,()]+ ~ ${x} ~ An entry has qty; its share of the equity is default_qty_type = strategy.percent_of_equity of strategy(). ~ strategy.entry has no parameter
\b(?:take_profit|takeprofit|tp)\s*= ~ limit = ~ A price to take is limit, a distance in ticks profit. ~ strategy.exit has no parameter
\b(?:stop_loss|stoploss|sl)\s*= ~ stop = ~ A price to stop at is stop, a distance in ticks loss. ~ strategy.exit has no parameter
^(\s*)if\s+(.*?)\s+(\w+\s*(?::=|\+=|-=)\s*.*)$ ~ ${1}if $2\n$1    $3 ~ The block of an if stands on lines of its own. ~ an indented block
^(\s*)if\s+(.*?\))\s+([a-z]\w*(?:\.\w+)*\(.*\))\s*$ ~ ${1}if $2\n$1    $3 ~ The block of an if stands on lines of its own. ~ an indented block
=\s*(.+?)\s+if\s+(.+?)\s+else\s+(.+)$ ~ = $2 ? $1 : $3 ~ Write condition ? a : b.
\bcolor\s*=\s*["'](aqua|black|blue|fuchsia|gray|green|lime|maroon|navy|olive|orange|purple|red|silver|teal|white|yellow)["'] ~ color = color.$1 ~ Colours are color.red, or #rrggbb without quotes.
["'](#(?:[0-9a-fA-F]{6}|[0-9a-fA-F]{8}))["'] ~ $1 ~ Colours are color.red, or #rrggbb without quotes. ~ color is wanted
\b0x([0-9a-fA-F]{6})\b ~ #$1 ~ Colours are color.red, or #rrggbb.
\bstyle\s*=\s*["'](line|histogram|area|columns|circles|stepline|cross)["'] ~ style = plot.style_$1 ~ Write plot.style_line.
\bplot\(([^,()]+(?:\([^()]*\))?),\s*color\. ~ plot($1, color = color. ~ The second argument is the title; name the colour. ~ "title" of plot is color
\bhline\( ~ plot( ~ hline takes a value that does not change; plot takes any. ~ "price" of hline
\bline\.style_(dashed|dotted|solid)\b ~ hline.style_$1 ~ Write hline.style_dashed. ~ hline_style is wanted
\bfill\((\w+),\s*(\w+),\s* ~ fill(plot($1), plot($2), ~ fill takes two plots. ~ of fill is
(line\.new\([^()]*),\s*(color\.\w+)\) ~ $1, color = $2) ~ Name the argument: color =. ~ "xloc" of line.new is color
\blabel\.new\((["'][^"']*["']),\s*([^,()]+),\s*([^,()]+) ~ label.new($2, $3, $1 ~ The place comes first: label.new(x, y, text).
\btable\.(top|middle|bottom)_(left|center|right)\b ~ position.$1_$2 ~ Write position.top_right.
,\s*["'](?i:(long|short))["'] ~ , strategy.$1 ~ Write strategy.long or strategy.short. ~ strategy_direction is wanted
\bstrategy\.entry\(\s*strategy\.(long|short) ~ strategy.entry("$1", strategy.$1 ~ An entry begins with a name of its own. ~ strategy.entry needs
\bstrategy\.close\(\s*\) ~ strategy.close_all() ~ strategy.close takes the name of an entry; strategy.close_all takes none.
\bstrategy\.(position_size|equity|netprofit|openprofit|grossprofit|grossloss|position_avg_price|initial_capital|opentrades|closedtrades)\(\s*\) ~ strategy.$1 ~ It is a variable.
\bstrategy\.(?:in_position|is_in_position|inposition|has_position)\b ~ strategy.position_size != 0 ~ Write strategy.position_size != 0.
\bstrategy\.(?:is_long|in_long|islong)\b ~ strategy.position_size > 0 ~ Write strategy.position_size > 0.
\bstrategy\.(?:is_short|in_short|isshort)\b ~ strategy.position_size < 0 ~ Write strategy.position_size < 0.
\balert\(\s*\) ~ alert("Alert") ~ alert takes its text.
\balertcondition\((["'][^"']*["']),\s*([^,()]+) ~ alertcondition($2, $1 ~ The condition comes first.
\brequest\.security\((["']\w+["']),\s*([^,()]+)\) ~ request.security(syminfo.tickerid, $1, $2) ~ The symbol comes first.
\blookahead\s*=\s*true\b ~ lookahead = barmerge.lookahead_on ~ Write barmerge.lookahead_on.
\blookahead\s*=\s*false\b ~ lookahead = barmerge.lookahead_off ~ Write barmerge.lookahead_off.
\bgaps\s*=\s*true\b ~ gaps = barmerge.gaps_on ~ Write barmerge.gaps_on.
\bgaps\s*=\s*false\b ~ gaps = barmerge.gaps_off ~ Write barmerge.gaps_off.
\bsyminfo\.exchange\b ~ syminfo.prefix ~ The exchange is syminfo.prefix.
\btimeframe\.(?:minutes|in_minutes)\b(?:\(\s*\))? ~ (timeframe.in_seconds() / 60) ~ Write timeframe.in_seconds() / 60.
\b(hour|minute|second|dayofweek|dayofmonth|month|year|weekofyear)\(\s*\) ~ $1 ~ That of the bar is a variable.
\btime\.(hour|minute|second|dayofweek|dayofmonth|month|year)\b ~ $1 ~ That of the bar is a variable.
\bmath\.(?:inf|INF|infinity)\b ~ 1e100 ~ There is no infinity; write a number that is large enough, or na.
^(\s*)(?:final|readonly)\s+ ~ ${1}const  ~ Write const.
^(\s*)(?:static|persistent|persist|retain)\s+((?:(?:int|float|bool|string|color)\s+)?\w+\s*=.*)$ ~ ${1}var $2 ~ A variable that lasts is declared with var.
^(\s*)(?:global|nonlocal)\s+\w+\s*$ ~ $1// ~ Remove it; variables of the script are seen everywhere.
^(\s*)(?:try|catch|except|finally)\b.*$ ~ ${1}if true ~ There are no exceptions.
^(\s*)for\s+(.*?)\s+step\s+(.*)$ ~ ${1}for $2 by $3 ~ The step follows by.
\sdownto\s ~ ${x} to  ~ Write to; a loop counts down by itself.
^(\s*)foreach\s+(\w+)\s+in\s+ ~ ${1}for $2 in  ~ Write for x in array.
^(\s*)for\s+\(?(\w+),\s*(\w+)\)?\s+in\s+enumerate\((\w+)\)\s*:?\s*$ ~ ${1}for [$2, $3] in $4 ~ Write for [i, x] in array.
^(\s*)for\s+\(?(\w+),\s*(\w+)\)?\s+in\s+ ~ ${1}for [$2, $3] in  ~ Write for [i, x] in array.
^(\s*)(?:else|default|otherwise|_)\s*=>\s* ~ $1=>  ~ The default case is written => result.
^(\s*\S.*=\s*(?:switch|if)\b.*?)\s*\{\s*$ ~ $1 ~ Blocks are made by indentation, without {.
;\s+(\w) ~ , $1 ~ Statements on one line stand between commas. ~ ';'
\)\s*$ ~ ${x} ~ Remove it, or add the opening one. ~ ")" closes nothing
\s&&\s ~ ${x} and  ~ Write "and", as in Python; there is no &&.
\s\|\|\s ~ ${x} or  ~ Write "or", as in Python; there is no ||.
&& ~ ${x} and  ~ Write "and", as in Python; there is no &&.
\|\| ~ ${x} or  ~ Write "or", as in Python; there is no ||.
\bAND\b ~ and ~ Write "and" in lower case.
\bOR\b ~ or ~ Write "or" in lower case.
\bNOT\b ~ not ~ Write "not" in lower case.
===  ~ ==  ~ Write == to compare; there is no ===.
!==  ~ !=  ~ Write != to compare; there is no !==.
<> ~ != ~ Write != to compare.
!([A-Za-z_(]) ~ not $1 ~ Write "not"; there is no !.
^(\s*)(\w+)\s*\+\+;?\s*$ ~ $1$2 += 1 ~ Write i += 1; there is no ++.
^(\s*)(\w+)\s*--;?\s*$ ~ $1$2 -= 1 ~ Write i -= 1; there is no --.
^(\s*)\+\+(\w+);?\s*$ ~ $1$2 += 1 ~ Write i += 1; there is no ++.
^(\s*)for\s*\(\s*(?:int|let|var)?\s*(\w+)\s*=\s*([^;]+);\s*\w+\s*<\s*([^;]+);[^)]*\)\s*\{?\s*$ ~ ${1}for $2 = $3 to $4 - 1 ~ Write for i = 0 to n - 1, with an indented block.
^(\s*)for\s*\(\s*(?:int|let|var)?\s*(\w+)\s*=\s*([^;]+);\s*\w+\s*<=\s*([^;]+);[^)]*\)\s*\{?\s*$ ~ ${1}for $2 = $3 to $4 ~ Write for i = 0 to n, with an indented block.
^(\s*)for\s+(\w+)\s+in\s+range\(\s*([^,()]+(?:\([^()]*\))?)\s*\)\s*:?\s*$ ~ ${1}for $2 = 0 to $3 - 1 ~ Write for i = 0 to n - 1; there is no range.
^(\s*)for\s+(\w+)\s+in\s+range\(\s*([^,()]+)\s*,\s*([^,()]+)\s*\)\s*:?\s*$ ~ ${1}for $2 = $3 to $4 - 1 ~ Write for i = a to b - 1; there is no range.
^(\s*)for\s*\(\s*(?:const|let|var)\s+(\w+)\s+of\s+(\w+)\s*\)\s*\{?\s*$ ~ ${1}for $2 in $3 ~ Write for x in array, with an indented block.
^(\s*)(\w+)\s+of\s+ ~ $1$2 in  ~ Write for x in array.
^(\s*)(?:def|function|fn|func)\s+(\w+)\s*\(([^)]*)\)\s*(?:->\s*\w+\s*)?[:{]?\s*$ ~ $1$2($3) => ~ Write f(x) => and an indented block; there is no def or function.
^(\s*)(?:const|let|var)\s+(\w+)\s*=\s*\(([^)]*)\)\s*=>\s*(.*)$ ~ $1$2($3) => $4 ~ Write f(x) => value; a function is no value.
^(\s*)(\w+)\s*=\s*\(([^)]*)\)\s*=>\s*(.*)$ ~ $1$2($3) => $4 ~ Write f(x) => value; a function is no value.
^(\s*)(\w+)\s*=\s*lambda\s+([^:]+):\s*(.*)$ ~ $1$2($3) => $4 ~ Write f(x) => value; there is no lambda.
^(\s*)return\s+(.*?);?\s*$ ~ $1$2 ~ A function gives its last value; there is no return.
^(\s*)(?:let|const)\s+(\w+)\s*=\s*(.*?);?\s*$ ~ $1$2 = $3 ~ Write x = value; there is no let.
^(\s*)double\s+(\w+)\s*= ~ ${1}float $2 = ~ The type of fractions is float.
^(\s*)(?:boolean|Boolean)\s+(\w+)\s*= ~ ${1}bool $2 = ~ The type is called bool.
^(\s*)(?:str|String)\s+(\w+)\s*= ~ ${1}string $2 = ~ The type is called string.
^(\s*)(?:integer|Int|long)\s+(\w+)\s*= ~ ${1}int $2 = ~ The type is called int.
^(\s*)(?:number|num|Float)\s+(\w+)\s*= ~ ${1}float $2 = ~ The type of fractions is float.
^(\s*)(\w+)\s*:\s*(int|float|bool|string|color)\s*=\s*(.*)$ ~ $1$3 $2 = $4 ~ The type stands before the name: float x = 1.
^(\s*)\}?\s*(?:elif|elseif|elsif)\b\s*(.*?)\s*[:{]?\s*$ ~ ${1}else if $2 ~ Write else if.
^(\s*)\}\s*else\s+if\b\s*(.*?)\s*[:{]?\s*$ ~ ${1}else if $2 ~ Blocks are made by indentation, without { and }.
^(\s*)\}?\s*else\s*[:{]\s*$ ~ ${1}else ~ Blocks are made by indentation, without { and }.
^(\s*)(if|while|else if|for)\b\s*(.*?)\s+then\s*$ ~ $1$2 $3 ~ There is no "then"; the block is indented.
^(\s*)(if|while|else if|for|switch)\b\s*(.*?)\s*[:{]\s*$ ~ $1$2 $3 ~ Blocks are made by indentation, without : or {.
^(\s*)(\w+\([^()]*\)\s*=>)\s*\{\s*$ ~ $1$2 ~ Blocks are made by indentation, without {.
^(\s*)\}\s*;?\s*$ ~ $1// ~ Remove it; blocks are made by indentation.
^(\s*)(?:end|endif|end if|fi|done|next)\s*$ ~ $1// ~ Remove it; a block ends where the indentation does.
^(\s*)pass\s*$ ~ ${1}na ~ There is no pass; a block without effect has the value na.
^(\s*)case\s+(.+?)\s*:\s*$ ~ $1$2 => ~ A case is written value => result.
^(\s*)case\s+(.+?)\s*:\s*(.+)$ ~ $1$2 => $3 ~ A case is written value => result.
^(\s*)default\s*:\s*(.*)$ ~ $1=> $2 ~ The default case is written => result.
;\s*$ ~ ${x} ~ Remove the semicolon; a statement ends with its line.
\b(?:None|null|undefined|nil|NaN|NULL)\b ~ na ~ The missing value is called na.
\bTrue\b ~ true ~ Write true in lower case.
\bFalse\b ~ false ~ Write false in lower case.
\bTRUE\b ~ true ~ Write true in lower case.
\bFALSE\b ~ false ~ Write false in lower case.
(\w+|\([^()]*\))\s*\*\*\s*(\w+(?:\.\d+)?) ~ math.pow($1, $2) ~ Write math.pow(a, b); there is no **.
(\w+)\s*\^\s*(\w+(?:\.\d+)?) ~ math.pow($1, $2) ~ Write math.pow(a, b); there is no ^.
^(\s*)(?:print|console\.log|printf|log)\((.*)\)\s*$ ~ ${1}log.info("{0}", $2) ~ Write log.info.
^(\s*)(\w+)\s*:=\s*:?=\s*(.*)$ ~ $1$2 := $3 ~ Write := to assign.
^(\s*)(\w+)\s*=\+\s*(.*)$ ~ $1$2 += $3 ~ Write += to add.
^(\s*if\s+[\w.()\[\]]+)\s=\s(.*)$ ~ $1 == $2 ~ Write == to compare.
\bf"([^"{}]*)\{(\w+)\}([^"{}]*)" ~ str.format("$1{0}$3", $2) ~ Write str.format; there are no strings with values inside.
\$\{(\w+)\} ~ {0} ~ Write str.format("{0}", value).
\bmath\.clamp\(([^,()]+(?:\([^()]*\))?),\s*([^,()]+),\s*([^,()]+)\) ~ math.max($2, math.min($3, $1)) ~ Write math.max(a, math.min(b, x)); there is no clamp.
\bmath\.mod\(([^,()]+),\s*([^,()]+)\) ~ ($1 % $2) ~ Write a % b; there is no math.mod.
\bmath\.(?:ln|loge)\( ~ math.log( ~ The natural logarithm is math.log.
\bmath\.power\( ~ math.pow( ~ Write math.pow.
\bmath\.(?:average|mean)\( ~ math.avg( ~ Write math.avg.
\bmath\.trunc\( ~ int( ~ Write int(x).
\bmath\.(sma|ema|rma|wma|rsi|atr|highest|lowest|stdev|change|cross|crossover|crossunder)\( ~ ta.$1( ~ Technical analysis is in ta.
\bta\.(abs|avg|round|ceil|floor|pow|sqrt|log|exp|sign|sum)\( ~ math.$1( ~ Mathematics is in math.
^(\s*)(\w+)\s*=\s*ta\.adx\(([^,()]+),\s*([^,()]+)\)\s*$ ~ $1[_, _, $2] = ta.dmi($3, $4) ~ ADX is the third value of ta.dmi.
^(\s*)(\w+)\s*=\s*ta\.adx\(([^,()]+)\)\s*$ ~ $1[_, _, $2] = ta.dmi($3, $3) ~ ADX is the third value of ta.dmi.
\bta\.adx\b ~ ta.dmi ~ ADX is the third value of ta.dmi: [plus, minus, adx] = ta.dmi(14, 14).
\bta\.(?:crossabove|cross_over|crossup|cross_above)\b ~ ta.crossover ~ Write ta.crossover.
\bta\.(?:crossbelow|cross_under|crossdown|cross_below)\b ~ ta.crossunder ~ Write ta.crossunder.
\bta\.(?:bbands|bollinger|bollinger_bands|bollingerBands)\b ~ ta.bb ~ Bollinger bands are ta.bb.
\bta\.(?:stddev|std|stdDev)\b ~ ta.stdev ~ The standard deviation is ta.stdev.
\bta\.(?:mean|average|ma|moving_average)\b ~ ta.sma ~ The moving average is ta.sma.
\bta\.(?:smma|wilder|wilders)\b ~ ta.rma ~ Wilder's average is ta.rma.
\bta\.(?:true_range|trueRange)\b ~ ta.tr ~ The true range is ta.tr.
\bta\.(?:psar|parabolic_sar)\b ~ ta.sar ~ The parabolic SAR is ta.sar.
\bta\.(?:williamsr|willr|williams_r)\b ~ ta.wpr ~ Williams %R is ta.wpr.
\bta\.(?:momentum)\b ~ ta.mom ~ Momentum is ta.mom.
\bta\.(?:max_?high)\b ~ ta.highest ~ Write ta.highest.
\bta\.(?:linear_?regression)\b ~ ta.linreg ~ Write ta.linreg.
\bta\.pivot_?(high|low)s?\b ~ ta.pivot$1 ~ Write ta.pivothigh or ta.pivotlow.
\bta\.stochrsi\(([^,()]+),\s*([^,()]+)\) ~ ta.stoch(ta.rsi($1, $2), ta.rsi($1, $2), ta.rsi($1, $2), $2) ~ The stochastic RSI is ta.stoch of ta.rsi.
^(\s*)strategy\.(?:buy|long_entry|enter_long)\(.*\)\s*$ ~ ${1}strategy.entry("Long", strategy.long) ~ Write strategy.entry("Long", strategy.long).
^(\s*)strategy\.(?:sell|short_entry|enter_short)\(.*\)\s*$ ~ ${1}strategy.entry("Short", strategy.short) ~ Write strategy.entry("Short", strategy.short), or strategy.close("Long").
\bstrategy\.position\b ~ strategy.position_size ~ Write strategy.position_size.
\bstrategy\.(?:close_position|exit_all)\(\s*\) ~ strategy.close_all() ~ Write strategy.close_all().
\bstrategy\.(?:entry_price|avg_price|position_price)\b ~ strategy.position_avg_price ~ Write strategy.position_avg_price.
\bcolor\.grey\b ~ color.gray ~ Write color.gray.
\bcolor\.cyan\b ~ color.aqua ~ Cyan is color.aqua.
\bcolor\.(?:magenta|pink)\b ~ color.fuchsia ~ Magenta is color.fuchsia.
\bcolor\.(?:gold|brown|amber)\b ~ color.orange ~ There is color.orange; others are written #rrggbb.
\bcolor\.(?:violet|indigo)\b ~ color.purple ~ There is color.purple; others are written #rrggbb.
\bcolor\.(?:light|dark)_?(blue|green|red|gray)\b ~ color.$1 ~ There are 17 colours with a name; others are written #rrggbb.
\bcolor\.rgba\( ~ color.rgb( ~ Write color.rgb(r, g, b, transparency).
\bstr\.concat\(([^,()]+),\s*([^,()]+)\) ~ $1 + $2 ~ Texts are joined with +.
\bstr\.len\( ~ str.length( ~ Write str.length.
\bstr\.(?:toString|to_string|string)\( ~ str.tostring( ~ Write str.tostring.
\bstr\.(?:to_number|tofloat|toint|parse)\( ~ str.tonumber( ~ Write str.tonumber.
\bstr\.(?:indexof|index|find)\( ~ str.pos( ~ Write str.pos.
\bstr\.(?:uppercase|toupper)\( ~ str.upper( ~ Write str.upper.
\bstr\.(?:lowercase|tolower)\( ~ str.lower( ~ Write str.lower.
\bstr\.(?:includes)\( ~ str.contains( ~ Write str.contains.
\binput\.integer\( ~ input.int( ~ Write input.int.
\binput\.(?:boolean|checkbox)\( ~ input.bool( ~ Write input.bool.
\binput\.(?:number|decimal|double)\( ~ input.float( ~ Write input.float.
\binput\.(?:text|str|select|dropdown)\( ~ input.string( ~ Write input.string.
\binput\.(?:resolution|tf)\( ~ input.timeframe( ~ Write input.timeframe.
\binput\.colour\( ~ input.color( ~ Write input.color.
\btimeframe\.(?:current|name|resolution)\b ~ timeframe.period ~ Write timeframe.period.
\bsyminfo\.(?:symbol|name)\b ~ syminfo.ticker ~ Write syminfo.ticker.
\bsyminfo\.(?:ticksize|tick_size|tick)\b ~ syminfo.mintick ~ Write syminfo.mintick.
\bbarstate\.(?:isclosed|isclose|closed|confirmed)\b ~ barstate.isconfirmed ~ Write barstate.isconfirmed.
\bbarstate\.(?:last|is_last)\b ~ barstate.islast ~ Write barstate.islast.
\bbarstate\.(?:first|is_first)\b ~ barstate.isfirst ~ Write barstate.isfirst.
\b(?:time\.now|timestamp\.now)\b(?:\(\))? ~ timenow ~ Write timenow.
\b(?:bar_count|bars_count|n_bars|barindex|bar\.index)\b ~ bar_index ~ Write bar_index.
\barray\.(?:length|len|count)\( ~ array.size( ~ Write array.size.
\barray\.(?:append|add)\( ~ array.push( ~ Write array.push.
\barray\.(?:mean|average)\( ~ array.avg( ~ Write array.avg.
\barray\.(?:delete|removeAt|remove_at)\( ~ array.remove( ~ Write array.remove.
\barray\.(?:contains|has)\( ~ array.includes( ~ Write array.includes.
\barray\.index_?of\( ~ array.indexof( ~ Write array.indexof.
\.(?:length|size|count)\b(?:\(\))? ~ .size() ~ The number of elements is array.size(). ~ of type array
\.append\( ~ .push( ~ Write push. ~ of type array
\blen\((\w+)\) ~ array.size($1) ~ Write array.size.
\b(open|high|low|close|volume)\((\d+)\) ~ $1[$2] ~ The value of a bar before is close[1].
\b(?:bar|candle)\.(open|high|low|close|volume)\b ~ $1 ~ Prices are variables of their own.
\bclose\.shift\((\d+)\) ~ close[$1] ~ The value of a bar before is close[1].
\b(\w+)\[-(\d+)\] ~ $1[$2] ~ An offset counts bars back: close[1] is the bar before. ~ pine_argument
\brequest\.(?:data|get|symbol|price|timeframe)\( ~ request.security( ~ Write request.security.
\balert\.condition\( ~ alertcondition( ~ Write alertcondition.
\b(?:alert_condition|alertCondition)\( ~ alertcondition( ~ Write alertcondition.
\b(?:plot_shape|plotShape)\( ~ plotshape( ~ Write plotshape.
\b(?:bg_?[cC]olor|background)\( ~ bgcolor( ~ Write bgcolor.
\bshape\.(triangle|arrow|label)_(up|down)\b ~ shape.$1$2 ~ Write shape.triangleup.
\blocation\.(?:above|above_bar)\b ~ location.abovebar ~ Write location.abovebar.
\blocation\.(?:below|below_bar)\b ~ location.belowbar ~ Write location.belowbar.
\bplot\.style_(?:dashed|dotted|solid)\b ~ plot.style_line ~ A plot has style_line, style_stepline, style_histogram, style_circles and others.
\bplot\.(line|histogram|area|columns|circles|stepline)\b ~ plot.style_$1 ~ Write plot.style_line.
\bline\.(dashed|dotted|solid)\b ~ line.style_$1 ~ Write line.style_dashed.
\blabel\.(up|down|left|right|center)\b ~ label.style_label_$1 ~ Write label.style_label_up.
\bsize\.(?:big)\b ~ size.large ~ Write size.large.
(^|[^.\w])(min|max|abs|round|floor|ceil|pow|sqrt)\( ~ ${1}math.$2( ~ Mathematics is in math. ~ pine_name
\bstring\(([^()]+)\) ~ str.tostring($1) ~ Convert with str.tostring(). ~ pine_type
^(\s*)(?:(?:var|varip)\s+)?(?:(?:int|float|bool|string|color)\s+)?(\w+)\s*=\s*(.*)$ ~ $1$2 := $3 ~ Assign it with :=. ~ already declared
^(\s*)((?:var|varip)\s+)?(\w+)\s*=\s*na\b ~ $1${2}float $3 = na ~ Write the type before the name. ~ na has none
,\s*transp\s*=\s*[^,()]+ ~ ${x} ~ Remove it and use color.new(color, transp). ~ no argument "transp"
^(\s*)(.*),\s*when\s*=\s*([^,()]+)(.*)$ ~ ${1}if $3\n$1    $2$4 ~ Put the call into an if. ~ no argument "when"
\bta\.(?:ema|rma)\b ~ ta.sma ~ ta.ema and ta.rma need a length that does not change; ta.sma takes one that does, or write the recursion yourself: x := a * close + (1 - a) * nz(x[1]). ~ pine_qualifier
\bta\.atr\(([^()]+)\) ~ ta.sma(ta.tr, $1) ~ ta.atr needs a length that does not change; ta.sma(ta.tr, length) takes one that does. ~ pine_qualifier
^(\s*)alertcondition\(\s*([^,]+),\s*(?:title\s*=\s*)?(?:"[^"]*"|'[^']*'),\s*(?:message\s*=\s*)?(.*)\)\s*$ ~ ${1}if $2\n$1    alert($3) ~ The texts of alertcondition cannot change; alert() takes one that does. ~ pine_qualifier
^(\s*)(int)\s+(\w+\s*=.*)$ ~ ${1}float $3 ~ Declare it as float. ~ pine_type
^(\s*bool\s+\w+\s*=\s*)na\s*$ ~ ${1}false ~ In version 6 a bool is never na. ~ pine_type
^(\s*)((?:[a-z_]\w*)\([^()]*\))\s*:\s*$ ~ $1$2 => ~ A function is declared with =>. ~ pine_syntax
^((?:[^"]*"[^"]*")*[^"]*"[^")]*)(\)+)\s*$ ~ $1"$2 ~ End the text with a quote. ~ pine_syntax
^(.*\S)\s*$ ~ $1) ~ Add the closing ")". ~ "(" is never closed
^(\s*)(.+?)\s*:\s*([^=].*)$ ~ $1$2 => $3 ~ A case is written value => result. ~ expected "=>"
`
