// Coroutines of C++20.
#include <coroutine>
#include <exception>
#include <string>

struct Numbers {
  struct promise_type {
    int value = 0;
    Numbers get_return_object() { return Numbers{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int number) noexcept {
      value = number;
      return {};
    }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
  explicit Numbers(std::coroutine_handle<promise_type> handle) : handle(handle) {}
  Numbers(Numbers &&other) noexcept : handle(other.handle) { other.handle = nullptr; }
  ~Numbers() {
    if (handle)
      handle.destroy();
  }
  bool next() {
    handle.resume();
    return !handle.done();
  }
};

struct Task {
  struct promise_type {
    std::coroutine_handle<> waiting;
    int value = 0;
    Task get_return_object() { return Task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() noexcept { return {}; }
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> done) noexcept {
        return done.promise().waiting ? done.promise().waiting : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    Final final_suspend() noexcept { return {}; }
    void return_value(int number) { value = number; }
    void unhandled_exception() { std::terminate(); }
  };
  std::coroutine_handle<promise_type> handle;
  explicit Task(std::coroutine_handle<promise_type> handle) : handle(handle) {}
  Task(Task &&other) noexcept : handle(other.handle) { other.handle = nullptr; }
  ~Task() {
    if (handle)
      handle.destroy();
  }
  bool await_ready() { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) {
    handle.promise().waiting = waiting;
    return handle;
  }
  int await_resume() { return handle.promise().value; }
};

static Numbers numbers(int count) {
  std::string text;
  for (int turn = 0; turn < count; turn++) {
    text += static_cast<char>('a' + turn);
    co_yield static_cast<int>(text.size()) * turn;
  }
}

static Task leaf(int number) { co_return number * 3; }
static Task inner(int number) {
  int sum = 0;
  for (int turn = 0; turn < number; turn++)
    sum += co_await leaf(turn);
  co_return sum;
}
static Task outer() { co_return co_await inner(4) + co_await inner(6); }

int main() {
  int sum = 0;
  Numbers some = numbers(8);
  while (some.next())
    sum += some.handle.promise().value;
  Task task = outer();
  task.handle.resume();
  return sum + task.handle.promise().value == 0;
}
