package check

// variableTable has the variables of the language: qualifier, type, name, and after a bar
// "none" (accepted without effect, the value is fixed), "refused REASON", or what the
// newest bar changes: "last" or "realtime".
const variableTable = `
series float open
series float high
series float low
series float close
series float volume
series float hl2
series float hlc3
series float ohlc4
series float hlcc4
series float bid | refused candela has no ticks in its bars
series float ask | refused candela has no ticks in its bars
series int bar_index
series int last_bar_index | last
series int last_bar_time | last
series int n | v5
series int time
series int time_close
series int time_tradingday
series int timenow | realtime
series int year
series int month
series int weekofyear
series int dayofmonth
series int dayofweek
series int hour
series int minute
series int second
series bool barstate.isconfirmed | realtime
series bool barstate.isfirst
series bool barstate.ishistory | realtime
series bool barstate.islast | last
series bool barstate.islastconfirmedhistory | last
series bool barstate.isnew | realtime
series bool barstate.isrealtime | realtime
series int chart.left_visible_bar_time
series int chart.right_visible_bar_time | last
input color chart.bg_color
input color chart.fg_color
simple bool chart.is_heikinashi
simple bool chart.is_kagi
simple bool chart.is_linebreak
simple bool chart.is_pnf
simple bool chart.is_range
simple bool chart.is_renko
simple bool chart.is_standard
series bool session.isfirstbar
series bool session.isfirstbar_regular
series bool session.islastbar
series bool session.islastbar_regular
series bool session.ismarket
series bool session.ispostmarket
series bool session.ispremarket
simple string syminfo.basecurrency
simple string syminfo.country
simple string syminfo.currency
simple string syminfo.current_contract
simple string syminfo.description
simple int syminfo.employees | none
simple int syminfo.expiration_date | none
simple string syminfo.industry | none
simple string syminfo.isin | none
simple string syminfo.main_tickerid
simple float syminfo.mincontract
simple int syminfo.minmove
simple float syminfo.mintick
simple float syminfo.pointvalue
simple string syminfo.prefix
simple int syminfo.pricescale
simple float syminfo.recommendations_buy | none
simple float syminfo.recommendations_buy_strong | none
simple int syminfo.recommendations_date | none
simple float syminfo.recommendations_hold | none
simple float syminfo.recommendations_sell | none
simple float syminfo.recommendations_sell_strong | none
simple float syminfo.recommendations_total | none
simple string syminfo.root
simple string syminfo.sector | none
simple string syminfo.session
simple int syminfo.shareholders | none
simple float syminfo.shares_outstanding_float | none
simple float syminfo.shares_outstanding_total | none
simple float syminfo.target_price_average | none
simple int syminfo.target_price_date | none
simple float syminfo.target_price_estimates | none
simple float syminfo.target_price_high | none
simple float syminfo.target_price_low | none
simple float syminfo.target_price_median | none
simple string syminfo.ticker
simple string syminfo.tickerid
simple string syminfo.timezone
simple string syminfo.type
simple string syminfo.volumetype
simple bool timeframe.isdaily
simple bool timeframe.isdwm
simple bool timeframe.isintraday
simple bool timeframe.isminutes
simple bool timeframe.ismonthly
simple bool timeframe.isseconds
simple bool timeframe.isticks
simple bool timeframe.isweekly
simple string timeframe.main_period
simple int timeframe.multiplier
simple string timeframe.period
series float ta.accdist
series float ta.iii
series float ta.nvi
series float ta.obv
series float ta.pvi
series float ta.pvt
series float ta.tr
series float ta.vwap
series float ta.wad
series float ta.wvad
series array<line> line.all
series array<label> label.all
series array<box> box.all
series array<table> table.all
series array<linefill> linefill.all
series array<polyline> polyline.all
series float dividends.future_amount | refused candela has no dividends
series int dividends.future_ex_date | refused candela has no dividends
series int dividends.future_pay_date | refused candela has no dividends
series float earnings.future_eps | refused candela has no earnings
series int earnings.future_period_end_time | refused candela has no earnings
series float earnings.future_revenue | refused candela has no earnings
series int earnings.future_time | refused candela has no earnings
simple string strategy.account_currency
series float strategy.avg_losing_trade
series float strategy.avg_losing_trade_percent | none
series float strategy.avg_trade
series float strategy.avg_trade_percent | none
series float strategy.avg_winning_trade
series float strategy.avg_winning_trade_percent | none
series int strategy.closedtrades
series int strategy.closedtrades.first_index
series float strategy.equity
series int strategy.eventrades
series float strategy.grossloss
series float strategy.grossloss_percent
series float strategy.grossprofit
series float strategy.grossprofit_percent
series float strategy.initial_capital
series int strategy.losstrades
series float strategy.margin_liquidation_price | none
series float strategy.max_contracts_held_all
series float strategy.max_contracts_held_long
series float strategy.max_contracts_held_short
series float strategy.max_drawdown
series float strategy.max_drawdown_percent
series float strategy.max_runup
series float strategy.max_runup_percent
series float strategy.netprofit
series float strategy.netprofit_percent
series float strategy.openprofit
series float strategy.openprofit_percent
series int strategy.opentrades
series float strategy.opentrades.capital_held | none
series float strategy.position_avg_price
series string strategy.position_entry_name
series float strategy.position_size
series int strategy.wintrades
`

// constantTable has the constants: type, namespace, and the names in it. The value is the
// name, or what follows "=" (a number, or a string in quotes); a second one after "/" is
// that of version 6.
const constantTable = `
color color aqua=#00BCD4 black=#363A45 blue=#2962FF fuchsia=#E040FB gray=#787B86 green=#4CAF50 lime=#00E676 maroon=#880E4F navy=#311B92 olive=#808000 orange=#FF9800 purple=#9C27B0 red=#FF5252/#F23645 silver=#B2B5BE teal=#00897B/#089981 white=#FFFFFF yellow=#FFEB3B/#FDD835
float math e=2.718281828459045 phi=1.618033988749895 pi=3.141592653589793 rphi=0.618033988749895
int dayofweek sunday=1 monday=2 tuesday=3 wednesday=4 thursday=5 friday=6 saturday=7
string adjustment dividends none splits
string alert freq_all freq_once_per_bar freq_once_per_bar_close
barmerge_gaps barmerge gaps_off gaps_on
barmerge_lookahead barmerge lookahead_off lookahead_on
string backadjustment inherit off on
string settlement_as_close inherit off on
string currency AED="AED" ARS="ARS" AUD="AUD" BDT="BDT" BHD="BHD" BRL="BRL" BTC="BTC" CAD="CAD" CHF="CHF" CLP="CLP" CNY="CNY" COP="COP" CZK="CZK" DKK="DKK" EGP="EGP" ETH="ETH" EUR="EUR" GBP="GBP" HKD="HKD" HUF="HUF" IDR="IDR" ILS="ILS" INR="INR" ISK="ISK" JPY="JPY" KES="KES" KRW="KRW" KWD="KWD" LKR="LKR" MAD="MAD" MXN="MXN" MYR="MYR" NGN="NGN" NOK="NOK" NONE="NONE" NZD="NZD" PEN="PEN" PHP="PHP" PKR="PKR" PLN="PLN" QAR="QAR" RON="RON" RSD="RSD" RUB="RUB" SAR="SAR" SEK="SEK" SGD="SGD" THB="THB" TND="TND" TRY="TRY" TWD="TWD" USD="USD" USDT="USDT" VES="VES" VND="VND" ZAR="ZAR"
display display none=0 pane=1 data_window=2 price_scale=4 status_line=8 pine_screener=16 all=31
string dividends gross net
string earnings actual estimate standardized
string extend both left none right
string font family_default family_monospace
string format inherit mintick percent price volume
hline_style hline style_dashed style_dotted style_solid
string label style_arrowdown style_arrowup style_circle style_cross style_diamond style_flag style_label_center style_label_down style_label_left style_label_lower_left style_label_lower_right style_label_right style_label_up style_label_upper_left style_label_upper_right style_none style_square style_text_outline style_triangledown style_triangleup style_xcross
string line style_arrow_both style_arrow_left style_arrow_right style_dashed style_dotted style_solid
string location abovebar absolute belowbar bottom top
sort_order order ascending descending
plot_style plot style_area style_areabr style_circles style_columns style_cross style_histogram style_line style_linebr style_stepline style_stepline_diamond style_steplinebr
string plot linestyle_solid linestyle_dashed linestyle_dotted
string position bottom_center bottom_left bottom_right middle_center middle_left middle_right top_center top_left top_right
scale scale left none right
string session extended regular
string shape arrowdown arrowup circle cross diamond flag labeldown labelup square triangledown triangleup xcross
string size auto huge large normal small tiny
string splits denominator numerator
string strategy cash fixed percent_of_equity
strategy_direction strategy long short
string strategy.commission cash_per_contract cash_per_order percent
string strategy.direction all long short
string strategy.oca cancel none reduce
string text align_bottom align_center align_left align_right align_top wrap_auto wrap_none
text_format text format_bold format_italic format_none
string xloc bar_index bar_time
string yloc abovebar belowbar price
`
