#pragma once
#include <nghttp2/nghttp2.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

// What a connection's event loop needs of Linux and Swift's Glibc module does not offer. Headers that Glibc does offer must
// not be included here: their types would then belong to this module.
static inline int varsel_eventfd(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }
static inline void varsel_eventfd_signal(int descriptor) { eventfd_write(descriptor, 1); }
static inline void varsel_eventfd_collect(int descriptor) {
    eventfd_t count;
    eventfd_read(descriptor, &count);
}
static inline int varsel_epoll_set(int epoll, int operation, int descriptor, uint32_t events, uint64_t data) {
    struct epoll_event event = {.events = events, .data = {.u64 = data}};
    return epoll_ctl(epoll, operation, descriptor, &event);
}
static inline uint64_t varsel_epoll_data(const struct epoll_event *event) { return event->data.u64; }
