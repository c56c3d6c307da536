# SPDX-License-Identifier: GPL-2.0-only
# Guest frames unmapped over time; the colour is the number of pages.
stats $data using c_time name 'T' nooutput
stats $data using c_gfn name 'G' nooutput
stats $data using c_time_width name 'W' nooutput
stats $data using c_gfn_width name 'H' nooutput
stats $data using c_pages name 'P' nooutput
scale = time_scale(T_max)
set xlabel sprintf('time since the start of the trace (%s)', time_name(scale))
stats $data using c_released name 'R' nooutput
y_name = R_max > 0 ? 'guest frame number of released pages' : 'first frame of each IOTLB flush'
set ylabel y_name
if (is_text) { set title chart_title.': '.y_name; unset ylabel }
set format y '0x%x'
# Tics at round hexadecimal numbers.
set ytics 2**floor(log((G_max - G_min + H_max) / 4. + 1) / log(2))
set xrange [(T_min - W_max / 2) / scale:(T_max + W_max / 2) / scale]
set yrange [G_min - H_max:G_max + H_max]
set xtics out
unset key
unset grid
if (is_text) {
    plot $data using (column(c_time) / scale):c_gfn with points pointtype 1
} else {
    set lmargin 14
    set rmargin 10
    set style fill solid 1 noborder
    set palette defined (0 '#fde725', 0.35 '#35b779', 0.65 '#31688e', 1 '#440154')
    set cbrange [1:(P_max > 1 ? P_max : 2)]
    if (P_max > 100) { set logscale cb }
    set cblabel (R_max > 0 ? 'pages' : 'flushes')
    if (P_max < 10) { set cbtics 1 }
    plot $data using (column(c_time) / scale):c_gfn:(W_max / 2 / scale):(H_max / 2):c_pages with boxxyerror linecolor palette
}
