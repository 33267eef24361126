// Events that a program has fetched must be acknowledged before their object can go: whoever destroys it waits.
#pragma once

#include <cstdint>

#include <pthread.h>

#include "verbs/ibverbs/objects.h"

namespace weft::verbs {

// `shown` is the counter of the public struct: stock programs may look at it.
inline void acknowledge(pthread_mutex_t& mutex, pthread_cond_t& cond, EventCount& count, std::uint32_t& shown,
                        std::uint32_t events) {
  pthread_mutex_lock(&mutex);
  count.acknowledged += events;
  shown = count.acknowledged;
  pthread_cond_broadcast(&cond);
  pthread_mutex_unlock(&mutex);
}

// Without the lane's lock: who acknowledges may need it first.
inline void await_acknowledged(pthread_mutex_t& mutex, pthread_cond_t& cond, const EventCount& count) {
  pthread_mutex_lock(&mutex);
  while (count.acknowledged != count.fetched) pthread_cond_wait(&cond, &mutex);
  pthread_mutex_unlock(&mutex);
}

// What every object with events begins and ends with.
template <class Object>
void make_acknowledgeable(Object& o) {
  pthread_mutex_init(&o.mutex, nullptr);
  pthread_cond_init(&o.cond, nullptr);
}
template <class Object>
void unmake_acknowledgeable(Object& o) {
  pthread_mutex_destroy(&o.mutex);
  pthread_cond_destroy(&o.cond);
}

}  // namespace weft::verbs
