/* What programs do with the C library: callbacks, non-local jumps, signals on both stacks, contexts, threads, printing. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static volatile int sink;
static jmp_buf place;
static sigjmp_buf signal_place;

static int compare(const void *one, const void *other) { return *(const int *)one - *(const int *)other; }

__attribute__((noinline)) static void leave(int depth) {
  char room[100 + depth];
  memset(room, depth, sizeof room);
  sink = room[depth];
  if (depth == 0)
    longjmp(place, 7);
  leave(depth - 1);
  sink++;
}

__attribute__((noinline)) static int deep(int number) { return number < 2 ? 1 : deep(number - 1) + deep(number - 2); }

static void handler(int number) { sink += number + deep(5); }

static void jumping(int number) {
  sink += number;
  siglongjmp(signal_place, 1);
}

static void informed(int number, siginfo_t *information, void *context) {
  ucontext_t *interrupted = context;
#ifdef __x86_64__
  interrupted->uc_mcontext.gregs[REG_RIP] += 2;
#endif
  sink += number + information->si_code;
}

static ucontext_t main_context, contexts[2];
static char stacks[2][65536];

static void runs(int which) {
  for (int turn = 0; turn < 3; turn++) {
    sink += deep(4 + which);
    swapcontext(&contexts[which], which ? &main_context : &contexts[1]);
  }
}

static void *thread(void *argument) {
  sink += deep(6);
  return argument;
}

static int destructors;
__attribute__((constructor)) static void begin(void) { destructors = 1; }
__attribute__((destructor)) static void end(void) { sink += destructors; }
static void at_exit(void) { sink += deep(3); }

static int implementation(int number) { return number + 1; }
static int (*resolve(void))(int) { return implementation; }
__attribute__((ifunc("resolve"))) static int chosen(int number);

int main(int count, char **arguments) {
  (void)count, (void)arguments;
  int numbers[40];
  for (int at = 0; at < 40; at++)
    numbers[at] = at * 7919 % 101;
  qsort(numbers, 40, sizeof *numbers, compare);
  if (setjmp(place) == 0)
    leave(5);
  signal(SIGUSR1, handler);
  raise(SIGUSR1);
  stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
  sigaltstack(&stack, NULL);
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR2, &action, NULL);
  raise(SIGUSR2);
  action = (struct sigaction){.sa_sigaction = informed, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigaction(SIGILL, &action, NULL);
#ifdef __x86_64__
  __asm__ volatile("ud2");
#endif
  action = (struct sigaction){.sa_handler = jumping, .sa_flags = SA_ONSTACK};
  sigaction(SIGSEGV, &action, NULL);
  if (sigsetjmp(signal_place, 1) == 0)
    *(volatile int *)8 = 3;
  for (int which = 0; which < 2; which++) {
    getcontext(&contexts[which]);
    contexts[which].uc_stack = (stack_t){.ss_sp = stacks[which], .ss_size = sizeof stacks[which]};
    contexts[which].uc_link = &main_context;
    makecontext(&contexts[which], (void (*)(void))runs, 1, which);
  }
  for (int turn = 0; turn < 3; turn++)
    swapcontext(&main_context, &contexts[0]);
  pthread_t other;
  pthread_create(&other, NULL, thread, NULL);
  pthread_join(other, NULL);
  atexit(at_exit);
  char text[200];
  snprintf(text, sizeof text, "%d %s %.3f %lx %-10s|", numbers[3], "words", 3.25, 77ul, "left");
  char *end_of_number;
  sink += strtol(text, &end_of_number, 10) + chosen(3);
  FILE *file = fopen("/proc/self/status", "r");
  while (file && fgets(text, sizeof text, file))
    sink += (int)strlen(text);
  if (file)
    fclose(file);
  void *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  munmap(pages, 8192);
  printf("%d\n", sink != 0);
  return 0;
}
