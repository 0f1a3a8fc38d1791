// Exceptions through frames with destructors, virtual calls, lambdas and standard containers.
#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

static volatile unsigned long sink;

struct Counted {
  static int alive;
  int number;
  explicit Counted(int number) : number(number) { alive++; }
  ~Counted() {
    alive--;
    sink = sink + number;
  }
};
int Counted::alive = 0;

struct Shape {
  virtual ~Shape() = default;
  virtual int area(int depth) = 0;
};
struct Square : Shape {
  int side;
  explicit Square(int side) : side(side) {}
  int area(int depth) override {
    Counted kept(depth);
    if (depth == 0)
      throw std::runtime_error("too deep: " + std::to_string(side));
    return side * side + area(depth - 1);
  }
};
struct Other : virtual Shape {
  int area(int depth) override { return depth > 3 ? throw depth : depth; }
};

__attribute__((noinline)) static int catching(int depth) {
  std::unique_ptr<Shape> shape;
  if (depth % 2)
    shape = std::make_unique<Square>(depth);
  else
    shape = std::make_unique<Other>();
  try {
    Counted kept(depth);
    return shape->area(depth);
  } catch (const std::runtime_error &error) {
    return static_cast<int>(std::string(error.what()).size());
  } catch (int number) {
    return -number;
  }
}

__attribute__((noinline)) static int many(int a, int b, int c, int d, int e, int f, Counted g, Counted h) {
  if (a > b)
    throw g.number;
  return a + b + c + d + e + f + h.number;
}

__attribute__((noinline)) static int rethrowing(int depth) {
  try {
    return many(depth, 3, 4, 5, 6, 7, Counted(8), Counted(9));
  } catch (...) {
    Counted kept(depth);
    if (depth > 5)
      throw;
    return depth;
  }
}

int main() {
  std::map<std::string, std::vector<int>> map;
  for (int turn = 0; turn < 9; turn++) {
    int number = catching(turn);
    try {
      number += rethrowing(turn);
    } catch (int thrown) {
      number += thrown;
    }
    map[std::to_string(number % 5)].push_back(turn);
  }
  std::vector<int> all;
  for (auto &[name, numbers] : map)
    std::copy(numbers.begin(), numbers.end(), std::back_inserter(all));
  auto key = [&map](int number) { return static_cast<int>(map.count(std::to_string(number % 3))) * 100 - number; };
  std::sort(all.begin(), all.end(), [&key](int one, int other) { return key(one) < key(other); });
  return Counted::alive != 0 || all.size() != 9;
}
