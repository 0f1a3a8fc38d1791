s/([a-z]+)\(([a-z]+)\)/\2 of \1/gp
/switch/,/default/{
s/case ([0-9]+)/number \1/p
}
