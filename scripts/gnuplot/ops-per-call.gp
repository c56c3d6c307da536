# SPDX-License-Identifier: GPL-2.0-only
# Unmap calls by their number of operations: exact up to 64, then by powers of
# two.  A batch takes at most 32 operations of one call.
set xlabel 'operations asked for by one call (65+, 128+ and so on: by powers of two)'
y_name = 'calls'
set ylabel y_name
if (is_text) { set title chart_title.': '.y_name; unset ylabel }
stats $data using c_calls name 'C' nooutput
stats $data using c_ops_to name 'O' nooutput
# Above 64 each power of two takes the room of 6 operations.
place(low) = low <= 64 ? low : 69 + 6 * (floor(log(low) / log(2) + 1e-9) - 6)
wide(low) = low <= 64 ? 0.8 : 4.5
set xrange [0:(O_max > 64 ? place(O_max) + 4 : O_max + 2)]
set xtics out
if (O_max > 64) {
    set xtics (1, 8, 16, 24, 32, 40, 48, 56, 64)
    if (is_text) { set xtics (1, 16, 32, 48, 64) }
    do for [power = 6:31] { if (2**power < O_max) { set xtics add (sprintf('%d+', power == 6 ? 65 : 2**power) 69 + 6 * (power - 6)) } }
}
if (C_max > 50 && C_max > 50 * C_min) { set logscale y; set yrange [0.5:C_max * 2] } else { set yrange [0:C_max * 1.15] }
unset key
plot $data using (place(column(c_ops_from))):c_calls:(wide(column(c_ops_from))) with boxes linecolor rgb blue
