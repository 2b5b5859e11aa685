"""What Apple's own library says to a matrix of signed payloads, one JSON line a case: name, token, roots, verifier and verdict."""
import base64, copy, datetime, json, sys
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier, VerificationException
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa, padding, ed25519, utils
from cryptography.x509.oid import NameOID

NOW = int(sys.argv[1])  # milliseconds
now = datetime.datetime.fromtimestamp(NOW / 1000, datetime.timezone.utc)
DAY = datetime.timedelta(days=1)
LEAF, WWDR = "1.2.840.113635.100.6.11.1", "1.2.840.113635.100.6.2.1"
N256 = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


def new_key(kind="p256"):
    curves = {"p256": ec.SECP256R1(), "p384": ec.SECP384R1(), "k1": ec.SECP256K1(), "p521": ec.SECP521R1()}
    return rsa.generate_private_key(65537, 2048) if kind == "rsa" else ec.generate_private_key(curves[kind])


def certificate(name, key, issuer=None, issuer_key=None, ca=True, path=None, oids=(), begin=-3650, end=3650, ids=True,
                critical=False, usage=True):
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (x509.CertificateBuilder().subject_name(subject).issuer_name(issuer.subject if issuer else subject)
               .public_key(key.public_key()).serial_number(x509.random_serial_number())
               .not_valid_before(now + begin * DAY).not_valid_after(now + end * DAY)
               .add_extension(x509.BasicConstraints(ca, path if ca else None), True))
    if usage:
        builder = builder.add_extension(
            x509.KeyUsage(not ca, False, False, False, False, ca, ca, False, False), True)
    if ids:
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        parent = issuer_key.public_key() if issuer_key else key.public_key()
        builder = builder.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(parent), False)
    for oid in oids:
        builder = builder.add_extension(
            x509.UnrecognizedExtension(x509.ObjectIdentifier(oid), b"\x05\x00"), critical)
    return builder.sign(issuer_key or key, hashes.SHA256())


def der(c):
    return c.public_bytes(serialization.Encoding.DER)


def b64(b):
    return base64.b64encode(b).decode()


def url(b):
    return base64.urlsafe_b64encode(b).rstrip(b"=").decode()


class Chain:
    def __init__(self, root_kind="p384", mid_kind="p384", leaf_kind="p256", leaf=None, mid=None, root=None):
        self.root_key, self.mid_key, self.key = new_key(root_kind), new_key(mid_kind), new_key(leaf_kind)
        self.root = certificate("Root", self.root_key, **(root or {}))
        options = dict(path=0, oids=[WWDR])
        options.update(mid or {})
        self.mid = certificate("Intermediate", self.mid_key, self.root, self.root_key, **options)
        options = dict(ca=False, oids=[LEAF])
        options.update(leaf or {})
        self.leaf = certificate("Signer", self.key, self.mid, self.mid_key, **options)

    @property
    def x5c(self):
        return [b64(der(c)) for c in (self.leaf, self.mid, self.root)]


def signature(key, data):
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(data, padding.PKCS1v15(), hashes.SHA256())
    r, s = utils.decode_dss_signature(key.sign(data, ec.ECDSA(hashes.SHA256())))
    size = (key.curve.key_size + 7) // 8
    return r.to_bytes(size, "big") + s.to_bytes(size, "big")


def sign(payload, chain, header=None, x5c=None, key=None, alg="ES256", raw_payload=None, raw_header=None):
    head = {"alg": alg, "x5c": x5c if x5c is not None else chain.x5c}
    head.update(header or {})
    head = {k: v for k, v in head.items() if v != "REMOVE"}
    h = url(raw_header if raw_header is not None else json.dumps(head, separators=(",", ":")).encode())
    p = url(raw_payload if raw_payload is not None else json.dumps(payload, separators=(",", ":")).encode())
    s = signature(key or chain.key, f"{h}.{p}".encode())
    return f"{h}.{p}.{url(s)}"


good = Chain()
TX = {"originalTransactionId": "1000", "transactionId": "1001", "bundleId": "com.example.app", "productId": "pro",
      "environment": "Sandbox", "type": "Auto-Renewable Subscription", "signedDate": NOW, "expiresDate": NOW + 1000}
RENEWAL = {"originalTransactionId": "1000", "autoRenewStatus": 1, "environment": "Sandbox", "signedDate": NOW}


def notification(chain=good, environment="Sandbox", nested=True, data=None, without_data=False, **members):
    body = {"notificationType": "DID_FAIL_TO_RENEW", "subtype": "GRACE_PERIOD", "version": "2.0", "signedDate": NOW,
            "notificationUUID": "002e14d5-51f5-4503-b5a8-c3a1af68eb20",
            "data": {"bundleId": "com.example.app", "bundleVersion": "1", "appAppleId": 1234,
                     "environment": environment, "status": 4}}
    if nested:
        body["data"]["signedTransactionInfo"] = sign({**TX, "environment": environment}, chain)
        body["data"]["signedRenewalInfo"] = sign({**RENEWAL, "environment": environment}, chain)
    body["data"].update(data or {})
    body["data"] = {k: v for k, v in body["data"].items() if v != "REMOVE"}
    body.update(members)
    if without_data:
        del body["data"]
    return {k: v for k, v in body.items() if v != "REMOVE"}


cases = []


def case(name, token, chain=good, roots=None, environment="Sandbox", bundle="com.example.app", app=1234,
         kind="notification"):
    roots = [der(chain.root)] if roots is None else roots
    try:
        verifier = SignedDataVerifier(roots, False, Environment(environment), bundle, app)
        {"notification": verifier.verify_and_decode_notification,
         "transaction": verifier.verify_and_decode_signed_transaction,
         "renewal": verifier.verify_and_decode_renewal_info}[kind](token)
        accepted, status = True, "OK"
    except VerificationException as error:
        accepted, status = False, error.status.name
    except Exception as error:
        accepted, status = False, type(error).__name__
    print(json.dumps({"name": name, "token": token, "roots": [b64(r) for r in roots], "environment": environment,
                      "bundleId": bundle, "appAppleId": app, "kind": kind, "accepted": accepted, "status": status}))


N = notification()
T = sign(N, good)
H, P, S = T.split(".")
raw = base64.urlsafe_b64decode(S + "==")
r, s = int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big")
JSON = json.dumps(N, separators=(",", ":"))

# Plain ways.
case("a notification", T)
case("a transaction", sign(TX, good), kind="transaction")
case("renewal information", sign(RENEWAL, good), kind="renewal")
case("production", sign(notification(environment="Production"), good), environment="Production")
case("a test notification", sign(notification(nested=False, notificationType="TEST", subtype="REMOVE",
                                              data={"status": "REMOVE"}), good))
# The chain.
x = good.x5c
other = Chain()
case("a foreign root in the third place", sign(N, good, x5c=[x[0], x[1], other.x5c[2]]))
case("garbage in the third place", sign(N, good, x5c=[x[0], x[1], "garbage"]))
case("an empty third place", sign(N, good, x5c=[x[0], x[1], ""]))
case("two roots, the second fits", T, roots=[der(other.root), der(good.root)])
case("no root configured", T, roots=[])
case("a foreign root configured", T, roots=[der(other.root)])
case("the intermediate configured as root", T, roots=[der(good.mid)])
for count in (0, 1, 2, 4):
    case(f"{count} certificates", sign(N, good, x5c=(x + x)[:count]))
case("no x5c", sign(N, good, header={"x5c": "REMOVE"}))
case("x5c is a text", sign(N, good, x5c=x[0]))
case("x5c holds numbers", sign(N, good, x5c=[1, 2, 3]))
case("swapped certificates", sign(N, good, x5c=[x[1], x[0], x[2]]))
case("the attacker's own chain", sign(N, other))
case("the attacker's leaf before our intermediate", sign(N, good, x5c=[other.x5c[0], x[1], x[2]], key=other.key))
case("the attacker's signature under our chain", sign(N, good, key=other.key))
case("base64url certificates", sign(N, good, x5c=[url(der(c)) for c in (good.leaf, good.mid, good.root)]))
case("a newline within base64", sign(N, good, x5c=[x[0][:64] + "\n" + x[0][64:], x[1], x[2]]))
case("PEM text", sign(N, good, x5c=[good.leaf.public_bytes(serialization.Encoding.PEM).decode(), x[1], x[2]]))
case("no DER", sign(N, good, x5c=[b64(b"hello"), x[1], x[2]]))
case("a byte after the certificate", sign(N, good, x5c=[b64(der(good.leaf) + b"\0"), x[1], x[2]]))
broken = bytearray(der(good.leaf)); broken[-1] ^= 1
case("a leaf whose own signature is broken", sign(N, good, x5c=[b64(bytes(broken)), x[1], x[2]]))
broken = bytearray(der(good.mid)); broken[-1] ^= 1
case("an intermediate whose own signature is broken", sign(N, good, x5c=[x[0], b64(bytes(broken)), x[2]]))
shapes = {
    "an intermediate on P-256": dict(mid_kind="p256"),
    "a leaf on P-384": dict(leaf_kind="p384"),
    "a leaf on secp256k1": dict(leaf_kind="k1"),
    "an RSA leaf": dict(leaf_kind="rsa"),
    "an intermediate on P-521": dict(mid_kind="p521"),
    "an RSA intermediate": dict(mid_kind="rsa"),
    "an RSA root": dict(root_kind="rsa"),
    "a leaf without its mark": dict(leaf=dict(oids=[])),
    "an intermediate without its mark": dict(mid=dict(oids=[])),
    "marks swapped": dict(leaf=dict(oids=[WWDR]), mid=dict(oids=[LEAF])),
    "both marks on both": dict(leaf=dict(oids=[LEAF, WWDR]), mid=dict(oids=[LEAF, WWDR])),
    "a critical mark on the leaf": dict(leaf=dict(critical=True)),
    "a critical mark on the intermediate": dict(mid=dict(critical=True)),
    "an intermediate that is no authority": dict(mid=dict(ca=False)),
    "no key identifiers": dict(root=dict(ids=False), mid=dict(ids=False), leaf=dict(ids=False)),
    "a root without path length for us": dict(root=dict(path=0)),
    "an expired leaf": dict(leaf=dict(begin=-30, end=-10)),
    "an expired intermediate": dict(mid=dict(begin=-30, end=-10)),
    "an expired root": dict(root=dict(begin=-30, end=-10)),
    "a leaf not yet valid": dict(leaf=dict(begin=10, end=30)),
    "a leaf without key usage": dict(leaf=dict(usage=False)),
    "an intermediate without key usage": dict(mid=dict(usage=False)),
}
for name, options in shapes.items():
    chain = Chain(**options)
    if options.get("leaf_kind") == "rsa":
        case(name, sign(N, chain), chain)
    else:
        case(name, sign(notification(chain), chain), chain)
expired = Chain(leaf=dict(begin=-30, end=-10))
old = NOW - 20 * 86_400_000
nested_old = dict(signedTransactionInfo=sign({**TX, "signedDate": old}, expired),
                  signedRenewalInfo=sign({**RENEWAL, "signedDate": old}, expired))
case("a leaf expired now but valid when signed",
     sign(notification(expired, nested=False, data=nested_old, signedDate=old), expired), expired)
straight = Chain()
leaf = certificate("Signer", straight.key, straight.root, straight.root_key, ca=False, oids=[LEAF])
case("a leaf straight under the root", sign(N, straight, x5c=[b64(der(leaf)), straight.x5c[1], straight.x5c[2]]), straight)
# The header.
for alg in ("none", "HS256", "es256", "ES256 ", "ES384", "ES512", "EdDSA", "PS256", "ES256K", "RS256", "", 256, None, "REMOVE"):
    case(f"alg {alg!r}", sign(N, good, header={"alg": alg}))
case("more header members", sign(N, good, header={"jwk": {"kty": "EC"}, "jku": "https://x.example", "kid": "a",
                                                  "typ": "JWT", "zip": "DEF"}))
case("kid is a number", sign(N, good, header={"kid": 1}))
case("a critical header", sign(N, good, header={"crit": ["exp"], "exp": 1}))
case("b64 is false", sign(N, good, header={"b64": False, "crit": ["b64"]}))
head = {"alg": "ES256", "x5c": good.x5c}
case("a header with white space", sign(N, good, raw_header=json.dumps(head, indent=1).encode()))
case("a header twice told alg", sign(N, good, raw_header=b'{"alg":"none",' + json.dumps(head).encode()[1:]))
case("a header that is a list", sign(N, good, raw_header=b"[]"))
case("a payload that is a list", sign(N, good, raw_payload=b"[]"))
case("a payload that is no JSON", sign(N, good, raw_payload=b"{"))
case("a payload of invalid UTF-8", sign(N, good, raw_payload=b'{"a":"\xff"}'))
case("a payload with a byte order mark", sign(N, good, raw_payload=b"\xef\xbb\xbf" + JSON.encode()))
case("a payload with NaN", sign(N, good, raw_payload=JSON[:-1].encode() + b',"x":NaN}'))
case("a payload with a name twice", sign(N, good, raw_payload=JSON[:-1].encode() + b',"version":"3.0"}'))
case("deep nesting", sign(N, good, raw_payload=JSON[:-1].encode() + b',"x":' + b"[" * 2000 + b"]" * 2000 + b"}"))
case("a megabyte of filler", sign({**N, "filler": "x" * 1_000_000}, good))
# The signature.
case("the twin signature", f"{H}.{P}.{url(raw[:32] + (N256 - s).to_bytes(32, 'big'))}")
case("a padded signature", T + "==")
case("no signature", f"{H}.{P}.")
case("a signature of zeros", f"{H}.{P}.{url(bytes(64))}")
for size in (32, 63):
    case(f"a signature of {size} bytes", f"{H}.{P}.{url(raw[:size])}")
case("a signature of 65 bytes", f"{H}.{P}.{url(raw + b'x')}")
case("a DER signature", f"{H}.{P}.{url(utils.encode_dss_signature(r, s))}")
case("r and s at the order", f"{H}.{P}.{url(N256.to_bytes(32, 'big') * 2)}")
case("r and s at one", f"{H}.{P}.{url((1).to_bytes(32, 'big') * 2)}")
case("swapped halves", f"{H}.{P}.{url(raw[32:] + raw[:32])}")
alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
case("spare bits set", T[:-1] + alphabet[alphabet.index(T[-1]) | 1])
standard = base64.b64encode(b"\xfb\xff" * 32).decode().rstrip("=")
case("the standard alphabet", f"{H}.{P}.{standard}")
case("a newline within the signature", f"{H}.{P}.{S[:10]}\n{S[10:]}")
case("a leading space", " " + T)
case("a trailing newline", T + "\n")
case("a changed payload", f"{H}.{url(JSON.replace('com.example.app', 'com.example.apq').encode())}.{S}")
for count in (1, 2, 4, 5):
    case(f"{count} segments", ".".join([H, P, S, S, S][:count]))
case("letters beyond ASCII", f"{H}.{P}é.{S}")
case("an empty text", "")
# Dates.
for name, value in {"missing": "REMOVE", "null": None, "a fraction": NOW + 0.5, "a text of digits": str(NOW), "a text": "now",
                    "true": True, "negative": -1, "huge": 10**20, "a list": [NOW],
                    "in 100 days": NOW + 100 * 86_400_000, "in 4 minutes": NOW + 240_000}.items():
    case(f"signedDate {name}", sign(notification(signedDate=value), good))
for name in ("exp", "nbf", "iat", "aud", "sub", "iss"):
    value = {"exp": NOW // 1000 - 100, "nbf": NOW // 1000 + 9999, "iat": NOW // 1000 + 9999, "aud": "x", "sub": 5, "iss": "x"}
    case(f"the claim {name}", sign(notification(**{name: value[name]}), good))
# Whose it is.
for name, value in {"another": "com.example.other", "missing": "REMOVE", "in capitals": "COM.EXAMPLE.APP"}.items():
    case(f"bundle id {name}", sign(notification(data={"bundleId": value}), good))
for name, value in {"another": "Production", "missing": "REMOVE", "unknown": "Moon", "LocalTesting": "LocalTesting",
                    "Xcode": "Xcode"}.items():
    case(f"environment {name}", sign(notification(nested=False, data={"environment": value}), good))
case("a wrong bundle and a wrong environment",
     sign(notification(data={"bundleId": "x", "environment": "Production"}), good))
for name, value in {"another": 99, "missing": "REMOVE", "a text": "1234"}.items():
    token = sign(notification(environment="Production", data={"appAppleId": value}), good)
    case(f"production with app id {name}", token, environment="Production")
case("sandbox without app id", sign(notification(data={"appAppleId": "REMOVE"}), good), app=None)
case("sandbox with another app id", sign(notification(data={"appAppleId": 5}), good))
case("no data", sign(notification(without_data=True), good))
case("an empty object", sign({}, good))
case("a transaction sent as a notification", sign(TX, good))
case("a notification sent as a transaction", T, kind="transaction")
case("a transaction sent as renewal information", sign(TX, good), kind="renewal")
case("a transaction of another app", sign({**TX, "bundleId": "x"}, good), kind="transaction")
case("a transaction of the other store", sign({**TX, "environment": "Production"}, good), kind="transaction")
case("renewal information of the other store", sign({**RENEWAL, "environment": "Production"}, good), kind="renewal")
summary = {"environment": "Sandbox", "appAppleId": 1234, "bundleId": "com.example.app", "productId": "pro",
           "requestIdentifier": "r", "storefrontCountryCodes": ["US"], "succeededCount": 1, "failedCount": 0}
case("a summary", sign(notification(without_data=True, notificationType="RENEWAL_EXTENSION", subtype="SUMMARY",
                                    summary=summary), good))
case("a summary beside data of another app",
     sign(notification(data={"bundleId": "x"}, summary=summary), good))
for prefix, name in (("SANDBOX", "sandbox"), ("", "production")):
    token = {"externalPurchaseId": prefix + "ab", "tokenCreationDate": NOW, "appAppleId": 1234, "bundleId": "com.example.app"}
    case(f"an external purchase token of {name}",
         sign(notification(without_data=True, notificationType="EXTERNAL_PURCHASE_TOKEN", subtype="UNREPORTED",
                           externalPurchaseToken=token), good))
# What Apple may add.
for name, value in {"unknown": "SOMETHING_NEW", "missing": "REMOVE", "a number": 5}.items():
    case(f"type {name}", sign(notification(notificationType=value), good))
case("an unknown subtype", sign(notification(subtype="SOMETHING_NEW"), good))
case("an unknown status", sign(notification(data={"status": 77}), good))
case("version 3.0", sign(notification(version="3.0"), good))
case("unknown members", sign(notification(something={"a": [1, 2]}), good))
for name, value in {"missing": "REMOVE", "no UUID": "hello", "a number": 5, "in capitals": "002E14D5-51F5-4503-B5A8-C3A1AF68EB20"}.items():
    case(f"notificationUUID {name}", sign(notification(notificationUUID=value), good))
# Tokens within the token.
case("a transaction within that is garbage", sign(notification(data={"signedTransactionInfo": "garbage"}), good))
case("renewal information within that is garbage", sign(notification(data={"signedRenewalInfo": "a.b.c"}), good))
case("a transaction within by an attacker", sign(notification(data={"signedTransactionInfo": sign(TX, other)}), good))
case("a transaction within of another app",
     sign(notification(data={"signedTransactionInfo": sign({**TX, "bundleId": "x"}, good)}), good))
case("a transaction within of the other store",
     sign(notification(data={"signedTransactionInfo": sign({**TX, "environment": "Production"}, good)}), good))
case("renewal information within of another subscription",
     sign(notification(data={"signedRenewalInfo": sign({**RENEWAL, "originalTransactionId": "2000"}, good)}), good))
case("a transaction within without a signed date",
     sign(notification(data={"signedTransactionInfo": sign({k: v for k, v in TX.items() if k != "signedDate"}, good)}), good))
