// A vector whose first elements are in itself: what is copied for each of very many candidates needs no memory then.

#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <vector>

namespace npuflow {

// Of numbers. More than `inside` are in a vector of its own.
template <typename T, std::size_t inside>
class ShortVector {
 public:
  using value_type = T;

  ShortVector() = default;
  ShortVector(std::size_t size, T value) : size_(size) {
    if (size <= inside) {
      std::fill_n(near_.begin(), size, value);
    } else {
      far_.assign(size, value);
    }
  }
  ShortVector(std::initializer_list<T> values) : ShortVector(values.begin(), values.end()) {}
  template <std::input_iterator Iterator>
  ShortVector(Iterator first, Iterator last) {
    for (; first != last; ++first) push_back(*first);
  }

  // Copies have no vector where there is none. All places inside are copied: as many each time, that calls nothing.
  ShortVector(const ShortVector& other) : size_(other.size_), near_(other.near_) {
    if (size_ > inside) far_ = other.far_;
  }
  ShortVector& operator=(const ShortVector& other) {
    size_ = other.size_;
    near_ = other.near_;
    if (size_ > inside) far_ = other.far_;
    return *this;
  }
  ShortVector(ShortVector&& other) noexcept = default;
  ShortVector& operator=(ShortVector&& other) noexcept = default;
  ~ShortVector() = default;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return size_ <= inside ? near_.data() : far_.data(); }
  T* end() { return begin() + size_; }
  const T* begin() const { return size_ <= inside ? near_.data() : far_.data(); }
  const T* end() const { return begin() + size_; }
  auto rbegin() { return std::reverse_iterator(end()); }
  auto rend() { return std::reverse_iterator(begin()); }
  auto rbegin() const { return std::reverse_iterator(end()); }
  auto rend() const { return std::reverse_iterator(begin()); }
  T& operator[](std::size_t index) { return begin()[index]; }
  const T& operator[](std::size_t index) const { return begin()[index]; }
  T& front() { return *begin(); }
  const T& front() const { return *begin(); }
  T& back() { return begin()[size_ - 1]; }
  const T& back() const { return begin()[size_ - 1]; }

  void push_back(T value) {
    if (size_ < inside) {
      near_[size_] = value;
    } else {
      if (size_ == inside) far_.assign(near_.begin(), near_.end());
      far_.push_back(value);
    }
    ++size_;
  }
  void clear() { size_ = 0; }

  bool operator==(const ShortVector& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }
  auto operator<=>(const ShortVector& other) const {
    return std::lexicographical_compare_three_way(begin(), end(), other.begin(), other.end());
  }

 private:
  // The size is beside what it counts, so that both are read at once.
  std::size_t size_ = 0;
  std::array<T, inside> near_{};
  std::vector<T> far_;
};

struct ShortVectorHash {
  template <typename T, std::size_t inside>
  std::size_t operator()(const ShortVector<T, inside>& values) const {
    std::uint64_t hash = 0;
    for (const T value : values) {
      hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15ULL + (hash >> 29);
    }
    return static_cast<std::size_t>(hash);
  }
};

}  // namespace npuflow
