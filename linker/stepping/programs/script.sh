f() { local y=$1; if [ "$y" -gt 0 ]; then f $((y - 1)); else return 3; fi; }
for word in one two three; do
  f 5
  x=${word//o/0}
  declare -A map=([$word]=$x)
  case $x in *w*) echo "${map[$word]}" ;; esac
done
trap 'echo caught' USR1
kill -USR1 $$
printf '%d %s\n' $((3 * 7 % 5)) "$(echo inner)"
echo {a..e} | cat
