#pragma once
#include <hiredis/hiredis.h>
// Swift's Glibc module has no eventfd; the client's thread is woken with one.
#include <sys/eventfd.h>
