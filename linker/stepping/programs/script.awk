function depth(n) { return n < 2 ? 1 : depth(n - 1) + depth(n - 2) }
{ count[length($1)]++; for (i = 1; i <= NF; i++) sum += length($i) }
/return/ { gsub(/[a-z]+/, "<&>"); returns++ }
END { for (key in count) print key, count[key]; printf "%d %.2f %d\n", returns, sum / NR, depth(9) }
