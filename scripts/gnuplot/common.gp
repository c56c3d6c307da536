# SPDX-License-Identifier: GPL-2.0-only
# common.gp - what all charts share: colours that the colour-blind can tell
# apart (Okabe and Ito), the frame, the title.
#
# xenflush puts before this: the terminal, is_text, chart_title, source, unit,
# $data and the numbers of its columns (c_NAME).

blue = 0x0072b2
orange = 0xe69f00
green = 0x009e73
red = 0xd55e00
purple = 0xcc79a7
sky = 0x56b4e9
grey = 0x666666

set encoding utf8
# A long name must not push the title out of the picture.
source_shown = strlen(source) > 60 ? source[1:28].'...'.source[strlen(source)-28:*] : source
set title (is_text || source eq '' ? chart_title : chart_title.": ".source_shown) noenhanced
set border 3 linecolor rgb grey
set tics nomirror textcolor rgb 'black'
set grid ytics linecolor rgb 0xdddddd linetype 1 linewidth 0.5
set style fill solid 0.9 border rgb 'white'
set key top right opaque width 1
if (!is_text) { set rmargin 4; set bmargin 5 }
if (is_text) { unset grid; set style fill empty }

# Times: nanoseconds are shown in the unit that suits their size.
time_scale(largest) = unit ne 'ns' ? 1. : largest >= 2e9 ? 1e9 : largest >= 2e6 ? 1e6 : largest >= 2e3 ? 1e3 : 1.
time_name(scale) = unit ne 'ns' ? 'cycles' : scale == 1e9 ? 's' : scale == 1e6 ? 'ms' : scale == 1e3 ? 'us' : 'ns'
