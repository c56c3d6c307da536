# SPDX-License-Identifier: GPL-2.0-only
# Rounds of flush IPIs: what a round costs, by the number of CPUs it goes to.
set xlabel 'CPUs targeted'
stats $data using (stringcolumn(c_rounds_of) eq 'by targets' ? column(c_targets_each) : NaN) name 'N' nooutput
stats $data using c_answer_p99 name 'A' nooutput
stats $data using c_lock_p99 name 'L' nooutput
stats $data using c_lock_p50 name 'M' nooutput
stats $data using c_answer_p50 name 'B' nooutput
largest = A_records && A_max > L_max ? A_max : L_max
least = M_records ? M_min : B_min
if (B_records && B_min < least) { least = B_min }
if (least < 1) { least = 1 }
# Seconds, so that the tics can say ns, us and ms; cycles as they are.
scale = unit eq 'ns' ? 1e9 : 1.
set format y (unit eq 'ns' ? '%.0s%cs' : '%.0s%c')
y_name = sprintf('time of a round%s; dot p50, line to p99', unit eq 'ns' ? '' : ' (cycles)')
set ylabel y_name
if (is_text) { set title chart_title.': p50, line to p99'; unset ylabel }
set xrange [(N_min < 1 ? -0.5 : N_min - 1):N_max + 1]
if (N_max - N_min < 16) { set xtics 1 }
set xtics out
set logscale y
set yrange [least / scale / 4:largest / scale * 30]
floor_of = least / scale
mine(c) = stringcolumn(c_rounds_of) eq 'by targets' && column(c) > 0 ? (column(c) / scale > floor_of ? column(c) / scale : floor_of) : NaN
# The number of rounds is told while there is room for it.
few = N_max - N_min < 8
shift = N_max - N_min < 16 ? 0.08 : 0.2
plot $data using (column(c_targets_each) - shift):(mine(c_lock_p50)):(mine(c_lock_p50)):(mine(c_lock_p99)) \
         with yerrorbars pointtype 7 pointsize 1.2 linewidth 2 linecolor rgb orange title 'waiting for the lock', \
     $data using (column(c_targets_each) + shift):(mine(c_answer_p50)):(mine(c_answer_p50)):(mine(c_answer_p99)) \
         with yerrorbars pointtype 5 pointsize 1.2 linewidth 2 linecolor rgb blue title 'waiting for the answers', \
     $data using (column(c_targets_each) + shift):(few ? mine(c_answer_p99) : NaN):(sprintf(column(c_rounds) == 1 ? '%d round' : '%d rounds', column(c_rounds))) \
         with labels offset 0,0.8 notitle
