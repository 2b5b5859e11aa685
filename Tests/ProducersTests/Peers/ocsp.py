"""An OCSP responder on 127.0.0.1, with a chain of three and a signed payload for each way it may answer. Prints one JSON line
with its port and the cases, then serves until it is killed."""
import base64, datetime, http.server, json, sys
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.x509 import ocsp
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtendedKeyUsageOID, NameOID

NOW = int(sys.argv[1])
now = datetime.datetime.fromtimestamp(NOW // 1000, datetime.timezone.utc)
DAY = datetime.timedelta(days=1)
LEAF, WWDR = "1.2.840.113635.100.6.11.1", "1.2.840.113635.100.6.2.1"
MODES = ["good", "revoked", "unknown", "later", "garbage", "badsig", "stale", "error", "slow", "large", "redirect", "delegate",
         "impostor", "unmarked", "silent", "elsewhere"]


def key():
    return ec.generate_private_key(ec.SECP256R1())


def certificate(name, own, issuer=None, issuer_key=None, ca=True, oid=None, url=None, eku=None):
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (x509.CertificateBuilder().subject_name(subject).issuer_name(issuer.subject if issuer else subject)
               .public_key(own.public_key()).serial_number(x509.random_serial_number())
               .not_valid_before(now - 30 * DAY).not_valid_after(now + 30 * DAY)
               .add_extension(x509.BasicConstraints(ca, None), True)
               .add_extension(x509.KeyUsage(not ca, False, False, False, False, ca, ca, False, False), True)
               .add_extension(x509.SubjectKeyIdentifier.from_public_key(own.public_key()), False)
               .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key((issuer_key or own).public_key()), False))
    if oid:
        builder = builder.add_extension(x509.UnrecognizedExtension(x509.ObjectIdentifier(oid), b"\x05\x00"), False)
    if url:
        builder = builder.add_extension(x509.AuthorityInformationAccess(
            [x509.AccessDescription(AuthorityInformationAccessOID.OCSP, x509.UniformResourceIdentifier(url))]), False)
    if eku:
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.OCSP_SIGNING]), False)
    return builder.sign(issuer_key or own, hashes.SHA256())


def der(c):
    return c.public_bytes(serialization.Encoding.DER)


def url64(b):
    return base64.urlsafe_b64encode(b).rstrip(b"=").decode()


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        mode = self.path.strip("/")
        if mode == "slow":
            import time
            time.sleep(8)
        if mode == "redirect":
            self.send_response(307)
            self.send_header("location", "/good")
            self.send_header("content-length", "0")
            self.end_headers()
            return
        answer = b"x" * 100_000 if mode == "large" else b"hello" if mode == "garbage" else self.answer(mode, body)
        self.send_response(500 if mode == "error" else 200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        try:
            self.wfile.write(answer)
        except OSError:
            pass

    def answer(self, mode, body):
        if mode == "later":
            return ocsp.OCSPResponseBuilder.build_unsuccessful(ocsp.OCSPResponseStatus.TRY_LATER).public_bytes(
                serialization.Encoding.DER)
        serial = ocsp.load_der_ocsp_request(body).serial_number
        subject, issuer, issuer_key = known[serial]
        status = {"revoked": ocsp.OCSPCertStatus.REVOKED, "unknown": ocsp.OCSPCertStatus.UNKNOWN}.get(
            mode, ocsp.OCSPCertStatus.GOOD)
        age = 10 * DAY if mode == "stale" else datetime.timedelta(seconds=5)
        responder, signer, extra = issuer, issuer_key, []
        if mode in ("delegate", "impostor", "unmarked"):
            signer = key()
            parent = (issuer, issuer_key) if mode != "impostor" else (foreign, foreign_key)
            responder = certificate("Responder", signer, *parent, ca=False, eku=mode != "unmarked")
            extra = [responder]
        builder = ocsp.OCSPResponseBuilder().add_response(
            cert=subject, issuer=issuer, algorithm=hashes.SHA256(), cert_status=status, this_update=now - age,
            next_update=now - age + DAY, revocation_time=now - DAY if mode == "revoked" else None,
            revocation_reason=None).responder_id(ocsp.OCSPResponderEncoding.HASH, responder)
        if extra:
            builder = builder.certificates(extra)
        answer = bytearray(builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.DER))
        if mode == "badsig":
            # The signature stands at the end, its last number last.
            answer[-1] ^= 1
        return bytes(answer)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
port = server.server_address[1]
known, cases = {}, []
foreign_key = key()
foreign = certificate("Foreign", foreign_key)
for mode in MODES:
    base = None if mode == "silent" else f"http://127.0.0.1:1/{mode}" if mode == "elsewhere" else f"http://127.0.0.1:{port}/{mode}"
    root_key, mid_key, leaf_key = key(), key(), key()
    root = certificate("Root " + mode, root_key)
    mid = certificate("Intermediate " + mode, mid_key, root, root_key, oid=WWDR, url=base)
    leaf = certificate("Signer " + mode, leaf_key, mid, mid_key, ca=False, oid=LEAF, url=base)
    known[mid.serial_number] = (mid, root, root_key)
    known[leaf.serial_number] = (leaf, mid, mid_key)
    x5c = [base64.b64encode(der(c)).decode() for c in (leaf, mid, root)]
    data = f"{url64(json.dumps({'alg': 'ES256', 'x5c': x5c}).encode())}.{url64(json.dumps({'signedDate': NOW}).encode())}"
    r, s = utils.decode_dss_signature(leaf_key.sign(data.encode(), ec.ECDSA(hashes.SHA256())))
    token = f"{data}.{url64(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"
    cases.append({"mode": mode, "root": base64.b64encode(der(root)).decode(), "token": token})
print(json.dumps({"port": port, "cases": cases}), flush=True)
server.serve_forever()
