define(`fib', `ifelse(eval($1 < 2), 1, 1, `eval(fib(decr($1)) + fib(eval($1 - 2)))')')
fib(9)
