# Draws lines of "series,x,y" as an SVG on standard output. A fourth field of 1 marks a point that is extrapolated: it is hollow,
# and the line to it dashed. y is logarithmic, and with logx=1 also x. Each series is
# labelled at its right end. Variables: title, run (the measurement), xlabel, ylabel, logx. POSIX awk, for
# test/bench/chart.

function log10(v) { return log(v) / log(10) }
function fx(v) { return left + (width - left - right) * ((logx ? log10(v) : v) - x0) / (x1 - x0) }
function fy(v) { return height - bottom - (height - top - bottom) * (log10(v) - y0) / (y1 - y0) }
function text(x, y, anchor, colour, size, s) {
  printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\" font-size=\"%d\">%s</text>\n", x, y, anchor, colour, size, s
}
function line(xa, ya, xb, yb, colour) {
  printf "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", xa, ya, xb, yb, colour
}
# A round number with its unit: 1500000 is 1.5M, 250 is 250.
function short(v) { return v >= 1e6 ? v / 1e6 "M" : v >= 1e3 ? v / 1e3 "k" : v "" }
function seconds(v) { return v >= 1 ? short(v) " s" : v * 1000 " ms" }

BEGIN {
  FS = ","
  width = 640; height = 400; left = 64; right = 172; top = 60; bottom = 48
  tick_width = 36  # of a label's text, with the gap to the next one
  n = split("#0072B2 #D55E00 #009E73 #CC79A7 #E69F00 #56B4E9 #000000 #7F3C8D", colours, " ")
}
$3 > 0 {
  if (!($1 in points)) names[++series] = $1
  k = ++points[$1]
  xs[$1, k] = $2 + 0; ys[$1, k] = $3 + 0; guessed[$1, k] = $4 + 0
  v = logx ? log10($2) : $2 + 0
  if (!count || v < x0) x0 = v
  if (!count || v > x1) x1 = v
  if (!count || log10($3) < y0) y0 = log10($3)
  if (!count || log10($3) > y1) y1 = log10($3)
  if (!($2 in seen)) { seen[$2] = 1; ticks[++tick] = $2 + 0 }
  count++
}
END {
  if (!count) exit 1
  y0 = y0 < 0 ? int(y0) - (y0 < int(y0)) : int(y0)
  y1 = y1 > int(y1) && y1 > 0 ? int(y1) + 1 : int(y1)
  if (y1 == y0) y1++
  if (x1 == x0) x1++
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\">\n", width, height, width, height
  printf "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", width, height
  text(left, 20, "start", "#222", 15, title)
  text(left, 36, "start", "#444", 11, run)
  for (p = y0; p <= y1; p++) {
    y = fy(10 ^ p)
    line(left, y, width - right, y, "#ddd")
    text(left - 8, y + 4, "end", "#444", 12, seconds(10 ^ p))
  }
  # Ticks from the left to the right, each with a label that does not touch the one before.
  free = 0
  for (drawn = 1; drawn <= tick; drawn++) {
    i = 0
    for (k = 1; k <= tick; k++) if (!(k in marked) && (!i || ticks[k] < ticks[i])) i = k
    marked[i] = 1
    x = fx(ticks[i])
    line(x, height - bottom, x, height - bottom + 5, "#888")
    if (x < free) continue
    free = x + tick_width
    text(x, height - bottom + 20, "middle", "#444", 12, logx ? short(ticks[i]) : ticks[i])
  }
  line(left, height - bottom, width - right, height - bottom, "#888")
  text((left + width - right) / 2, height - 8, "middle", "#444", 12, xlabel)
  text(left, top - 4, "start", "#444", 12, ylabel)
  for (s = 1; s <= series; s++) {
    name = names[s]
    best = 1
    path = dashed = ""
    for (k = 1; k <= points[name]; k++) {
      point = sprintf("%.1f,%.1f", fx(xs[name, k]), fy(ys[name, k]))
      if (guessed[name, k]) dashed = (dashed == "" ? before : dashed) " " point
      else path = path (k == 1 ? "" : " ") point
      before = point
      if (xs[name, k] > xs[name, best]) best = k
    }
    colour = colours[(s - 1) % n + 1]
    printf "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n", path, colour
    if (dashed != "")
      printf "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"5 4\"/>\n", dashed, colour
    for (k = 1; k <= points[name]; k++)
      printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\" stroke=\"%s\"/>\n", fx(xs[name, k]), fy(ys[name, k]), guessed[name, k] ? "#fff" : colour, colour
    label[s] = fy(ys[name, best]) + 4
  }
  # Labels from the top down, none closer than a line to the one above.
  last = 0
  for (placed = 1; placed <= series; placed++) {
    next_label = 0
    for (s = 1; s <= series; s++) if (!(s in done) && (!next_label || label[s] < label[next_label])) next_label = s
    done[next_label] = 1
    y = label[next_label] < last + 14 ? last + 14 : label[next_label]
    last = y
    text(width - right + 10, y, "start", colours[(next_label - 1) % n + 1], 12, names[next_label])
  }
  print "</svg>"
}
