#pragma once
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// Macros of OpenSSL that the Swift importer cannot see, as functions.
static inline int varsel_ssl_ctx_set_min_version(SSL_CTX *context, int version) {
    return (int)SSL_CTX_set_min_proto_version(context, version);
}
static inline void varsel_ssl_ctx_set_mode(SSL_CTX *context, long mode) { SSL_CTX_set_mode(context, mode); }
static inline void varsel_ssl_ctx_set_read_ahead(SSL_CTX *context, int on) { SSL_CTX_set_read_ahead(context, on); }
static inline void varsel_ssl_ctx_set_session_cache_mode(SSL_CTX *context, long mode) {
    SSL_CTX_set_session_cache_mode(context, mode);
}
static inline int varsel_ssl_ctx_add1_chain_cert(SSL_CTX *context, X509 *certificate) {
    return (int)SSL_CTX_add1_chain_cert(context, certificate);
}
static inline int varsel_ssl_set_server_name(SSL *ssl, const char *name) {
    return (int)SSL_set_tlsext_host_name(ssl, name);
}
static inline int varsel_x509_stack_count(const STACK_OF(X509) *stack) { return stack ? sk_X509_num(stack) : 0; }
static inline X509 *varsel_x509_stack_at(const STACK_OF(X509) *stack, int index) { return sk_X509_value(stack, index); }
static inline void varsel_x509_stack_free(STACK_OF(X509) *stack) { sk_X509_pop_free(stack, X509_free); }
static inline STACK_OF(X509) *varsel_x509_stack_new(void) { return sk_X509_new_null(); }
static inline int varsel_x509_stack_push(STACK_OF(X509) *stack, X509 *certificate) {
    return sk_X509_push(stack, certificate);
}
// The stack alone; its certificates stay with their owners.
static inline void varsel_x509_stack_free_only(STACK_OF(X509) *stack) { sk_X509_free(stack); }
static inline int varsel_string_stack_count(const STACK_OF(OPENSSL_STRING) *stack) {
    return stack ? sk_OPENSSL_STRING_num(stack) : 0;
}
static inline const char *varsel_string_stack_at(const STACK_OF(OPENSSL_STRING) *stack, int index) {
    return sk_OPENSSL_STRING_value(stack, index);
}
