names := $(wildcard *.c *.cc)
all: $(names:.c=.o)
%.o: %.c
	echo $@ $(patsubst %.c,%,$<) $(shell echo inner)
%.o: %.cc
	echo $(foreach one,$(names),$(basename $(one)))
