#pragma once
#include <curl/curl.h>

// curl_easy_setopt, curl_multi_setopt and curl_easy_getinfo are variadic, which Swift cannot call: one function for each kind
// of value. The parentheses keep curl's type-checking macros out, which Swift could not import either.

static inline CURLcode shim_curl_set_long(CURL *easy, CURLoption option, long value)
{
    return (curl_easy_setopt)(easy, option, value);
}

static inline CURLcode shim_curl_set_size(CURL *easy, CURLoption option, curl_off_t value)
{
    return (curl_easy_setopt)(easy, option, value);
}

// Strings are copied by libcurl; other pointers must stay valid for the transfer.
static inline CURLcode shim_curl_set_pointer(CURL *easy, CURLoption option, const void *value)
{
    return (curl_easy_setopt)(easy, option, value);
}

static inline CURLcode shim_curl_set_receiver(
    CURL *easy,
    CURLoption option,
    size_t (*receive)(char *bytes, size_t size, size_t count, void *context))
{
    return (curl_easy_setopt)(easy, option, receive);
}

static inline CURLcode shim_curl_set_socket_opener(
    CURL *easy,
    curl_socket_t (*open)(void *context, curlsocktype purpose, struct curl_sockaddr *address))
{
    return (curl_easy_setopt)(easy, CURLOPT_OPENSOCKETFUNCTION, open);
}

static inline long shim_curl_status(CURL *easy)
{
    long status = 0;
    (curl_easy_getinfo)(easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static inline void *shim_curl_private(CURL *easy)
{
    char *context = NULL;
    (curl_easy_getinfo)(easy, CURLINFO_PRIVATE, &context);
    return context;
}

static inline CURLMcode shim_curl_multi_set_long(CURLM *multi, CURLMoption option, long value)
{
    return (curl_multi_setopt)(multi, option, value);
}

// A union member that Swift would have to reinterpret.
static inline CURLcode shim_curl_result(const CURLMsg *message)
{
    return message->data.result;
}

// Opens the socket that libcurl asks for, so that no program started meanwhile inherits it.
static inline curl_socket_t shim_curl_open_socket(const struct curl_sockaddr *address)
{
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}
