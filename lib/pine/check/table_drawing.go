package check

// drawingTable has lines, labels, boxes, tables, polylines and points.
const drawingTable = `
chart.point.new(int time, int index, float price) series chart.point
chart.point.from_index(int index, float price) series chart.point
chart.point.from_time(int time, float price) series chart.point
chart.point.now(float price = close) series chart.point
chart.point.copy(chart.point id) series chart.point
line.new(int x1, float y1, int x2, float y2, string xloc = xloc.bar_index, string extend = extend.none, color color = color.blue, string style = line.style_solid, int width = 1, const bool force_overlay = false) series line
line.new(chart.point first_point, chart.point second_point, string xloc = xloc.bar_index, string extend = extend.none, color color = color.blue, string style = line.style_solid, int width = 1, const bool force_overlay = false) series line | form=points
line.copy(line id) series line
line.delete(line id) void
line.get_price(line id, int x) series float
line.get_x1(line id) series int
line.get_x2(line id) series int
line.get_y1(line id) series float
line.get_y2(line id) series float
line.set_color(line id, color color) void
line.set_extend(line id, string extend) void
line.set_first_point(line id, chart.point point) void
line.set_second_point(line id, chart.point point) void
line.set_style(line id, string style) void
line.set_width(line id, int width) void
line.set_x1(line id, int x) void
line.set_x2(line id, int x) void
line.set_xloc(line id, int x1, int x2, string xloc) void
line.set_xy1(line id, int x, float y) void
line.set_xy2(line id, int x, float y) void
line.set_y1(line id, float y) void
line.set_y2(line id, float y) void
linefill.new(line line1, line line2, color color) series linefill
linefill.delete(linefill id) void
linefill.get_line1(linefill id) series line
linefill.get_line2(linefill id) series line
linefill.set_color(linefill id, color color) void
label.new(int x, float y, string text = "", string xloc = xloc.bar_index, string yloc = yloc.price, color color = color.blue, string style = label.style_label_down, color textcolor = color.white, any size = size.normal, string textalign = text.align_center, string tooltip = "", string text_font_family = font.family_default, const bool force_overlay = false, text_format text_formatting = text.format_none) series label
label.new(chart.point point, string text = "", string xloc = xloc.bar_index, string yloc = yloc.price, color color = color.blue, string style = label.style_label_down, color textcolor = color.white, any size = size.normal, string textalign = text.align_center, string tooltip = "", string text_font_family = font.family_default, const bool force_overlay = false, text_format text_formatting = text.format_none) series label | form=point
label.copy(label id) series label
label.delete(label id) void
label.get_text(label id) series string
label.get_x(label id) series int
label.get_y(label id) series float
label.set_color(label id, color color) void
label.set_point(label id, chart.point point) void
label.set_size(label id, any size) void
label.set_style(label id, string style) void
label.set_text(label id, string text) void
label.set_text_font_family(label id, string text_font_family) void
label.set_text_formatting(label id, text_format text_formatting) void
label.set_textalign(label id, string textalign) void
label.set_textcolor(label id, color textcolor) void
label.set_tooltip(label id, string tooltip) void
label.set_x(label id, int x) void
label.set_xloc(label id, int x, string xloc) void
label.set_xy(label id, int x, float y) void
label.set_y(label id, float y) void
label.set_yloc(label id, string yloc) void
box.new(int left, float top, int right, float bottom, color border_color = color.blue, int border_width = 1, string border_style = line.style_solid, string extend = extend.none, string xloc = xloc.bar_index, color bgcolor = color.blue, string text = "", any text_size = size.auto, color text_color = color.black, string text_halign = text.align_center, string text_valign = text.align_center, string text_wrap = text.wrap_none, string text_font_family = font.family_default, const bool force_overlay = false, text_format text_formatting = text.format_none) series box
box.new(chart.point top_left, chart.point bottom_right, color border_color = color.blue, int border_width = 1, string border_style = line.style_solid, string extend = extend.none, string xloc = xloc.bar_index, color bgcolor = color.blue, string text = "", any text_size = size.auto, color text_color = color.black, string text_halign = text.align_center, string text_valign = text.align_center, string text_wrap = text.wrap_none, string text_font_family = font.family_default, const bool force_overlay = false, text_format text_formatting = text.format_none) series box | form=points
box.copy(box id) series box
box.delete(box id) void
box.get_bottom(box id) series float
box.get_left(box id) series int
box.get_right(box id) series int
box.get_top(box id) series float
box.set_bgcolor(box id, color color) void
box.set_border_color(box id, color color) void
box.set_border_style(box id, string style) void
box.set_border_width(box id, int width) void
box.set_bottom(box id, float bottom) void
box.set_bottom_right_point(box id, chart.point point) void
box.set_extend(box id, string extend) void
box.set_left(box id, int left) void
box.set_lefttop(box id, int left, float top) void
box.set_right(box id, int right) void
box.set_rightbottom(box id, int right, float bottom) void
box.set_text(box id, string text) void
box.set_text_color(box id, color text_color) void
box.set_text_font_family(box id, string text_font_family) void
box.set_text_formatting(box id, text_format text_formatting) void
box.set_text_halign(box id, string text_halign) void
box.set_text_size(box id, any text_size) void
box.set_text_valign(box id, string text_valign) void
box.set_text_wrap(box id, string text_wrap) void
box.set_top(box id, float top) void
box.set_top_left_point(box id, chart.point point) void
box.set_xloc(box id, int left, int right, string xloc) void
table.new(string position, int columns, int rows, color? bgcolor, color? frame_color, int frame_width = 0, color? border_color, int border_width = 0, const bool force_overlay = false) series table
table.cell(table table_id, int column, int row, string text = "", float width = 0, float height = 0, color text_color = color.black, string text_halign = text.align_center, string text_valign = text.align_center, any text_size = size.normal, color? bgcolor, string tooltip = "", string text_font_family = font.family_default, text_format text_formatting = text.format_none) void
table.cell_set_bgcolor(table table_id, int column, int row, color bgcolor) void
table.cell_set_height(table table_id, int column, int row, float height) void
table.cell_set_text(table table_id, int column, int row, string text) void
table.cell_set_text_color(table table_id, int column, int row, color text_color) void
table.cell_set_text_font_family(table table_id, int column, int row, string text_font_family) void
table.cell_set_text_formatting(table table_id, int column, int row, text_format text_formatting) void
table.cell_set_text_halign(table table_id, int column, int row, string text_halign) void
table.cell_set_text_size(table table_id, int column, int row, any text_size) void
table.cell_set_text_valign(table table_id, int column, int row, string text_valign) void
table.cell_set_tooltip(table table_id, int column, int row, string tooltip) void
table.cell_set_width(table table_id, int column, int row, float width) void
table.clear(table table_id, int start_column, int start_row, int? end_column, int? end_row) void
table.delete(table table_id) void
table.merge_cells(table table_id, int start_column, int start_row, int end_column, int end_row) void
table.set_bgcolor(table table_id, color bgcolor) void
table.set_border_color(table table_id, color border_color) void
table.set_border_width(table table_id, int border_width) void
table.set_frame_color(table table_id, color frame_color) void
table.set_frame_width(table table_id, int frame_width) void
table.set_position(table table_id, string position) void
polyline.new(array<chart.point> points, bool curved = false, bool closed = false, string xloc = xloc.bar_index, color line_color = color.blue, color? fill_color, string line_style = line.style_solid, int line_width = 1, const bool force_overlay = false) series polyline
polyline.delete(polyline id) void
`
