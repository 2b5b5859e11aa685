#pragma once
#include <microhttpd.h>

// MHD_start_daemon is variadic, which Swift cannot call: this is the one form the server needs. Daemon and callbacks
// share one context pointer.
static inline struct MHD_Daemon *shim_mhd_start(
    int listen_socket,
    unsigned int threads,
    unsigned int connection_limit,
    unsigned int timeout_seconds,
    size_t connection_memory,
    MHD_AccessHandlerCallback handle,
    MHD_RequestCompletedCallback completed,
    MHD_NotifyConnectionCallback connection_changed,
    void *(*request_line)(void *context, const char *uri, struct MHD_Connection *connection),
    void *context)
{
    struct MHD_OptionItem pool[] = {
        // A pool of one thread is refused: one thread is what a daemon without a pool has.
        { threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, (intptr_t) threads, NULL },
        { MHD_OPTION_END, 0, NULL },
    };
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_INTERNAL_POLLING_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_TURBO,
        0, NULL, NULL, handle, context,
        MHD_OPTION_LISTEN_SOCKET, listen_socket,
        MHD_OPTION_CONNECTION_LIMIT, connection_limit,
        MHD_OPTION_CONNECTION_TIMEOUT, timeout_seconds,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_memory,
        MHD_OPTION_NOTIFY_COMPLETED, completed, context,
        MHD_OPTION_NOTIFY_CONNECTION, connection_changed, context,
        MHD_OPTION_URI_LOG_CALLBACK, request_line, context,
        MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_ARRAY, pool,
        MHD_OPTION_END);
}

// MHD_get_connection_info is variadic too (it never reads further arguments) and answers a union: one function a field.

static inline void *shim_mhd_socket_context(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? info->socket_context : NULL;
}

static inline const struct sockaddr *shim_mhd_client_address(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info ? info->client_addr : NULL;
}

static inline int shim_mhd_socket(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

static inline size_t shim_mhd_header_size(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    return info ? info->header_size : 0;
}

// Some of the library's enumerations reach Swift without their constants.

static inline int shim_mhd_is_start(enum MHD_ConnectionNotificationCode code)
{
    return code == MHD_CONNECTION_NOTIFY_STARTED;
}

static inline struct MHD_Response *shim_mhd_response(const void *body, size_t size)
{
    return MHD_create_response_from_buffer(size, (void *) body, MHD_RESPMEM_MUST_COPY);
}
